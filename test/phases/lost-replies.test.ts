import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { onCluster } from '../support/cluster.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { nth } from '../support/postgres-proxy.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { untilBlocked } from '../support/transactions.js';

const COMMIT = /^COMMIT$/;
const ENTRY = /INSERT INTO "idempotency_phases"/;
/** Of a foreign call. */
const intent = () => nth(1, ENTRY);
/** Of a foreign call, be it finished, rejected or withdrawn. */
const end = () => nth(2, ENTRY);

forEachPlatform('Lost replies', (platform) => {
  let app: ProxiedApp & PhaseApp;

  beforeAll(async () => {
    app = await startPhaseApp(platform, {}, startProxiedApp);
  });
  beforeEach(() => app.database.query('TRUNCATE notes').then(() => undefined));
  afterAll(() => app.close());

  it('to a commit are recognised, and the work does not run again', async () => {
    let runs = 0;
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        return { run: ++runs, at: new Date(0) };
      }),
    );
    const lost = app.proxy.loseReply(COMMIT);

    const answer = await app.post('ride', 'reply');

    await lost;
    expect(answer.status).toBe(201);
    expect(answer.json()).toEqual({ run: 1, at: '1970-01-01T00:00:00.000Z' });
    expect(await app.notes()).toEqual(['ride']);
  });

  it('to a commit that never arrived make the work run again', async () => {
    let runs = 0;
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await note(tx, 'ride');
        return { run: ++runs };
      }),
    );
    const lost = app.proxy.loseStatement(COMMIT);

    const answer = await app.post('ride', 'statement');

    await lost;
    expect(answer.json()).toEqual({ run: 2 });
    expect(await app.notes()).toEqual(['ride']);
  });

  it('to a commit that arrives late leave one of two runs', async () => {
    const runs: number[] = [];
    const second = barrier();
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        const run = runs.push(runs.length);
        if (run === 2) await second.pass();
        await note(tx, `ride ${run}`);
        return { run };
      }),
    );
    const commit = app.proxy.holdStatement(COMMIT);
    const answer = app.post('ride', 'late');
    await commit.reached;
    commit.loseClient();
    // To a cluster COMMIT is sent by itself. The fence has locked the key, and the next run waits.
    await (onCluster ? untilBlocked(app.database) : second.arrived());
    commit.release();
    await commit.answered;
    second.open();

    expect((await answer).json()).toEqual({ run: 1 });
    expect(await app.notes()).toEqual(['ride 1']);
    expect(runs).toHaveLength(onCluster ? 1 : 2);
  });

  it.each([
    ['of the intent', intent],
    ['of the commit of its outcome', () => COMMIT],
    ['of the fence of its outcome', end],
  ])('do not repeat a foreign call: %s', async (_, statement) => {
    const key = crypto.randomUUID();
    const effectKeys: string[] = [];
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async ({ idempotencyKey }) => effectKeys.push(idempotencyKey),
        record: async (tx, calls) => {
          await note(tx, 'charge');
          return { calls };
        },
      }),
    );
    const lost = app.proxy.loseReply(statement());

    const answer = await app.post('charge', key);

    await lost;
    expect(answer.json()).toEqual({ calls: 1 });
    expect(await app.notes()).toEqual(['charge']);
    expect(await app.phases(key)).toMatchObject([{ state: 'finished', effect_key: effectKeys[0] }]);
  });

  it.each([
    ['rejected', new HttpException('declined', 402), 402],
    ['withdrawn', new Error('refused'), 500],
  ] as const)('do not make a call %s twice', async (state, error, status) => {
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: () => Promise.reject(error),
        notExecuted: () => state === 'withdrawn',
      }),
    );
    const lost = app.proxy.loseReply(end());

    expect((await app.post('charge', state)).status).toBe(status);
    await lost;
    expect(await app.phases(state)).toMatchObject([{ state }]);
  });
});
