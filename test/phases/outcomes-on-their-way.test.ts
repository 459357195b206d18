import { randomBytes, randomUUID } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { AtomicPhase } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { needsOneServer } from '../support/one-server.js';
import { describePhases, note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { until } from '../support/until.js';
import { FINISH } from '../support/store-statements.js';

// On a phased route the handler goes on while the outcome of a foreign phase is
// recorded. What it reaches next travels with it, or waits for it.
const INTENT = /^WITH fence AS[^]*INSERT INTO "idempotency_phases"/;
/** The outcome of a phase and the intent of the next one. */
const JOINED = /ended AS[^]*INSERT INTO "idempotency_phases"/;
/** The outcome of the last phase and that of the attempt. */
const LAST = /response_body = [^]*UPDATE "idempotency_phases"/;

const whole = (pattern: RegExp, but?: RegExp) => ({
  test: (sql: string) => pattern.test(sql) && !but?.test(sql),
});

/** On a cluster each entry has a statement of its own, and the handler waits for it. */
const together = needsOneServer('statements that several entries share');

forEachPlatform('Outcomes on their way', (platform) => {
  let app: ProxiedApp & PhaseApp;
  const calls: string[] = [];

  beforeAll(async () => {
    app = await startPhaseApp(platform, { idempotency: { phased: true } }, startProxiedApp);
    app.handle('charges', (phases) => charges(phases, 3));
  });
  beforeEach(async () => {
    await app.database.query('TRUNCATE notes');
    calls.length = 0;
    app.logs.length = 0;
  });
  afterAll(() => app.close());

  async function charge(phases: AtomicPhase, name: string): Promise<string> {
    const call = async () => `${name} ${calls.push(name)}`;
    return phases.foreign(name, { inDoubt: 'stop', request: { name }, call });
  }

  async function charges(phases: AtomicPhase, count: number): Promise<string[]> {
    const results = [];
    for (let n = 1; n <= count; n += 1) results.push(await charge(phases, `charge_${n}`));
    return results;
  }

  const THREE = ['charge_1 1', 'charge_2 2', 'charge_3 3'];

  async function expectThree(key: string): Promise<void> {
    expect(calls).toEqual(['charge_1', 'charge_2', 'charge_3']);
    expect(await app.phases(key)).toMatchObject(
      THREE.map((result, index) => ({
        name: `charge_${index + 1}`,
        position: index + 1,
        state: 'finished',
        attempt: 1,
        result,
        request: { name: `charge_${index + 1}` },
        started_at: expect.any(Date),
        finished_at: expect.any(Date),
      })),
    );
    const row = await keyRow(app.database, key);
    expect(row).toMatchObject({ status: 'completed', recovery_point: 'finished' });
  }

  together('travel with the next intent, and the last one with the answer', async () => {
    const key = randomUUID();
    const before = app.proxy.trips.length;

    const answer = await app.post('charges', key);

    expect([answer.status, answer.json()]).toEqual([201, THREE]);
    await expectThree(key);
    const trips = app.proxy.trips.slice(before).map(([statement]) => statement!.sql);
    expect(trips).toEqual([
      expect.stringMatching(/INSERT INTO "idempotency_keys"/),
      expect.stringMatching(INTENT),
      expect.stringMatching(JOINED),
      expect.stringMatching(JOINED),
      expect.stringMatching(LAST),
    ]);
    const replay = await app.post('charges', key);
    expect([replay.status, replay.text]).toEqual([201, answer.text]);
  });

  it('of many requests at once are all recorded', async () => {
    const keys = Array.from({ length: 40 }, () => randomUUID());
    app.handle('many', (phases) => charges(phases, 4));

    const answers = await Promise.all(keys.map((key) => app.post('many', key)));

    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
    expect(calls).toHaveLength(160);
    for (const key of keys) {
      const phases = await app.phases(key);
      expect(phases.map(({ state }) => state)).toEqual(Array(4).fill('finished'));
    }
  });

  together('leave at once if the handler takes its time', async () => {
    const key = randomUUID();
    const slow = barrier();
    app.handle('slow', async (phases) => {
      await charge(phases, 'charge_1');
      await slow.pass();
      return charge(phases, 'charge_2');
    });

    const outcome = app.proxy.holdReply({
      test: (sql) => INTENT.test(sql) && calls.length === 1,
    });
    const answer = app.post('slow', key);
    await slow.arrived();
    await outcome.reached;
    outcome.release();
    expect((await keyRow(app.database, key)).recovery_point).toBe('charge_1');
    slow.open();

    expect((await answer).status).toBe(201);
    expect(await app.phases(key)).toMatchObject([{ state: 'finished' }, { state: 'finished' }]);
  });

  together('come before the next phase, also if their statement has left already', async () => {
    const key = randomUUID();
    const gate = barrier();
    app.handle('late', async (phases) => {
      await charge(phases, 'charge_1');
      await gate.pass();
      await charge(phases, 'charge_2');
    });
    const outcome = app.proxy.holdStatement({
      test: (sql) => INTENT.test(sql) && calls.length === 1,
    });
    const answer = app.post('late', key);
    await outcome.reached;
    await gate.arrived();
    gate.open();
    const intents = app.proxy.count(INTENT);
    // As many turns as the handler and the batches need at most.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect([app.proxy.count(INTENT), calls]).toEqual([intents, ['charge_1']]);
    outcome.release();

    expect((await answer).status).toBe(201);
    expect(calls).toEqual(['charge_1', 'charge_2']);
  });

  it('come before the work of a local phase', async () => {
    const key = randomUUID();
    app.handle('both', async (phases) => {
      const charged = await charge(phases, 'charge_1');
      return phases.local('noted', async (tx) => {
        const [row] = await tx.query('SELECT recovery_point FROM idempotency_keys WHERE key = $1', [
          key,
        ]);
        await note(tx, charged);
        return row;
      });
    });

    expect((await app.post('both', key)).json()).toEqual({ recovery_point: 'charge_1' });
    expect(await app.notes()).toEqual(['charge_1 1']);
  });

  it('are recorded for a handler that throws, and a retry does not call again', async () => {
    const key = randomUUID();
    let fails = true;
    app.handle('throws', async (phases) => {
      await charges(phases, 2);
      if (fails) throw new Error('after the last phase');
      return { calls: calls.length };
    });

    expect((await app.post('throws', key)).status).toBe(500);
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'charge_2',
    });
    fails = false;
    expect((await app.post('throws', key)).json()).toEqual({ calls: 2 });
  });

  it('are recorded with a definite answer of the handler', async () => {
    const key = randomUUID();
    app.handle('declines', async (phases) => {
      await charge(phases, 'charge_1');
      throw new HttpException('declined', 402);
    });

    expect((await app.post('declines', key)).status).toBe(402);
    expect(await app.phases(key)).toMatchObject([{ state: 'finished' }]);
    expect((await app.post('declines', key)).status).toBe(402);
    expect(calls).toHaveLength(1);
  });

  it('are recorded with an answer that is sent by itself because it is large', async () => {
    const key = randomUUID();
    app.handle('large', async (phases) => [await charge(phases, 'charge_1'), 'x'.repeat(100_000)]);

    const answer = await app.post('large', key);

    expect(await app.phases(key)).toMatchObject([{ state: 'finished', result: 'charge_1 1' }]);
    expect((await app.post('large', key)).text).toBe(answer.text);
  });

  it('travel by themselves if they are large', async () => {
    const key = randomUUID();
    const result = 'x'.repeat(20_000);
    app.handle('large', async (phases) => {
      await phases.foreign('described', { call: async () => result });
    });
    const last = app.proxy.count(LAST);

    expect((await app.post('large', key)).status).toBe(201);
    expect(app.proxy.count(LAST)).toBe(last);
    expect(await app.phases(key)).toMatchObject([{ state: 'finished', result }]);
  });

  it('do not carry a large request', async () => {
    const key = randomUUID();
    const request = { note: 'x'.repeat(20_000) };
    app.handle('large', async (phases) => {
      await charge(phases, 'charge_1');
      return phases.foreign('described', { request, call: async () => calls.push('described') });
    });

    expect((await app.post('large', key)).json()).toBe(2);
    expect(await app.phases(key)).toMatchObject([{ state: 'finished' }, { request }]);
  });

  together.each([
    ['the reply', 'to an outcome and an intent', JOINED, 'loseReply'],
    ['the statement', 'of an outcome and an intent', JOINED, 'loseStatement'],
    ['the reply', 'to the last outcome and the answer', LAST, 'loseReply'],
    ['the statement', 'of the last outcome and the answer', LAST, 'loseStatement'],
  ] as const)('are recorded once if %s is lost: %s', async (_, __, pattern, lose) => {
    const key = randomUUID();
    const lost = app.proxy[lose](pattern);

    const answer = await app.post('charges', key);

    await lost;
    expect([answer.status, answer.json()]).toEqual([201, THREE]);
    await expectThree(key);
    expect((await app.post('charges', key)).text).toBe(answer.text);
    expect(app.logs).toEqual([]);
  });

  it('are not lost if the database refuses the next intent', async () => {
    const key = randomUUID();
    app.handle('refused', async (phases) => {
      await charge(phases, 'charge_1');
      // No text column can hold it.
      await charge(phases, 'nul\0');
    });

    expect((await app.post('refused', key)).status).toBe(503);
    expect(calls).toEqual(['charge_1']);
    expect(await app.phases(key)).toMatchObject([{ name: 'charge_1', state: 'finished' }]);
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'charge_1',
    });
  });

  together('are not lost if the database refuses the answer', async () => {
    const key = randomUUID();
    await app.database.query(`
      CREATE FUNCTION refuse_answer() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'refused by the test'; END $$`);
    await app.database.query(`
      CREATE TRIGGER refuse_answer BEFORE UPDATE ON idempotency_keys
      FOR EACH ROW WHEN (NEW.status = 'completed' AND NEW.key = '${key}') EXECUTE FUNCTION refuse_answer()`);
    const answer = app.post('charges', key);
    // By itself, after the statement with both was refused.
    const outcome = app.proxy.holdReply({
      test: (sql) => INTENT.test(sql) && calls.length === 3,
    });
    await outcome.reached;
    expect((await keyRow(app.database, key)).recovery_point).toBe('charge_3');
    await app.database.query('DROP TRIGGER refuse_answer ON idempotency_keys');
    await app.database.query('DROP FUNCTION refuse_answer');
    outcome.release();

    expect((await answer).json()).toEqual(THREE);
    await expectThree(key);
  });

  together('that are fenced off begin no further phase', async () => {
    const key = randomUUID();
    const outcome = app.proxy.holdStatement(JOINED);
    const answer = app.post('charges', key);
    await outcome.reached;
    await app.database.query('UPDATE idempotency_keys SET owner = $2, attempt = 2 WHERE key = $1', [
      key,
      randomUUID(),
    ]);
    outcome.release();

    const { status, text } = await answer;
    expect([status, JSON.parse(text).code]).toEqual([409, 'lease_lost']);
    expect(calls).toEqual(['charge_1']);
    expect(await app.phases(key)).toMatchObject([{ name: 'charge_1', state: 'intended' }]);
  });

  together('that are fenced off with the answer send none', async () => {
    const key = randomUUID();
    const last = app.proxy.holdStatement(LAST);
    const answer = app.post('charges', key);
    await last.reached;
    await app.database.query('UPDATE idempotency_keys SET owner = $2, attempt = 2 WHERE key = $1', [
      key,
      randomUUID(),
    ]);
    last.release();

    const { status, text } = await answer;
    expect([status, JSON.parse(text).code]).toEqual([409, 'lease_lost']);
    expect((await app.phases(key)).map(({ state }) => state)).toEqual([
      'finished',
      'finished',
      'intended',
    ]);
  });
});

describePhases(
  'Outcomes on their way over a pool of two connections',
  (app) => {
    it('of requests with all kinds of phases are all recorded', async () => {
      app.handle('mixed', async (phases) => {
        await phases.foreign('a', { call: async () => 1 });
        await phases.local('b', (tx) => note(tx, 'b'));
        await phases.foreign('c', { call: async () => 2, record: (tx) => note(tx, 'c') });
        await phases.foreign('d', { call: async () => 3 });
        await phases.foreign('e', { call: async () => 4 });
      });
      const keys = Array.from({ length: 30 }, () => randomUUID());

      const answers = await Promise.all(keys.map((key) => app.post('mixed', key)));

      expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201));
      expect(await app.notes()).toHaveLength(60);
      for (const key of keys) {
        const phases = await app.phases(key);
        expect(phases.map(({ state }) => state)).toEqual(Array(5).fill('finished'));
      }
    });

    it('are recorded before the answer also if the handler did not await the phase', async () => {
      const key = randomUUID();
      app.handle('loose', (phases) => {
        void phases.foreign('charged', { call: async () => 1 });
      });

      expect((await app.post('loose', key)).status).toBe(201);
      expect(await app.phases(key)).toMatchObject([{ state: 'finished' }]);
    });
  },
  { idempotency: { phased: true }, dataSource: { extra: { max: 2 } } },
);

forEachPlatform('Outcomes on their way with encryption', (platform) => {
  let app: PhaseApp;
  beforeAll(async () => {
    const encryption = { keys: [{ id: 'test', secret: randomBytes(32) }] };
    app = await startPhaseApp(platform, { idempotency: { phased: true, encryption } });
  });
  afterAll(() => app.close());

  it('are sealed, with the next intent and with the answer, and a resume reads them', async () => {
    const key = randomUUID();
    let calls = 0;
    let fails = true;
    app.handle('charges', async (phases) => {
      const results = [];
      for (const name of ['first', 'second']) {
        results.push(await phases.foreign(name, { call: async () => `secret ${++calls}` }));
      }
      if (fails) throw new Error('after the last phase');
      return results;
    });

    expect((await app.post('charges', key)).status).toBe(500);
    const phases = await app.phases(key);
    expect(phases.map(({ state }) => state)).toEqual(['finished', 'finished']);
    expect(JSON.stringify(phases.map(({ result }) => result))).not.toContain('secret');
    fails = false;
    expect((await app.post('charges', key)).json()).toEqual(['secret 1', 'secret 2']);
    expect(calls).toBe(2);
  });
});

forEachPlatform('Outcomes on their way and a policy that throws', (platform) => {
  let app: PhaseApp;
  beforeAll(async () => {
    const isFinal = () => {
      throw new Error('no idea');
    };
    app = await startPhaseApp(platform, { idempotency: { phased: true, isFinal } });
  });
  afterAll(() => app.close());

  it('are recorded all the same', async () => {
    const key = randomUUID();
    app.handle('charge', (phases) => phases.foreign('charged', { call: async () => 1 }));

    expect((await app.post('charge', key)).status).toBe(503);
    await until(async () => (await app.phases(key))[0]?.state === 'finished');
  });
});

forEachPlatform('Outcomes of a plain route', (platform) => {
  let app: ProxiedApp & PhaseApp;
  beforeAll(async () => {
    app = await startPhaseApp(platform, {}, startProxiedApp);
  });
  afterAll(() => app.close());

  it('are on record when the handler goes on, because it may do more than phases', async () => {
    const key = randomUUID();
    const seen: string[] = [];
    app.handle('plain', async (phases) => {
      for (const name of ['charge_1', 'charge_2']) {
        await phases.foreign(name, { call: async () => name });
        seen.push((await keyRow(app.database, key)).recovery_point);
      }
    });

    expect((await app.post('plain', key)).status).toBe(201);
    expect(seen).toEqual(['charge_1', 'charge_2']);
    expect(app.proxy.count(whole(FINISH, LAST))).toBe(1);
    expect(app.proxy.count(JOINED)).toBe(0);
  });
});

forEachPlatform('Outcomes on their way to a database that stays away', (platform) => {
  let app: ProxiedApp & PhaseApp;
  beforeAll(async () => {
    app = await startPhaseApp(
      platform,
      { idempotency: { phased: true, lease: '1s' } },
      startProxiedApp,
    );
  });
  afterAll(() => app.close());

  it('leave the phase in doubt, begin no further one, and no answer is final', async () => {
    const key = randomUUID();
    const calls: string[] = [];
    app.handle('charges', async (phases) => {
      for (const name of ['charge_1', 'charge_2']) {
        await phases
          .foreign(name, {
            async call() {
              calls.push(name);
              await app.proxy.refuse();
            },
          })
          // Whatever the handler does with the error.
          .catch(() => undefined);
      }
    });

    const answer = await app.post('charges', key);
    await app.proxy.accept();

    expect([answer.status, calls]).toEqual([503, ['charge_1']]);
    expect(app.logs).toContainEqual(expect.stringContaining('Phase "charge_1" of idempotency key'));
    expect(await app.phases(key)).toMatchObject([{ name: 'charge_1', state: 'intended' }]);
    expect((await keyRow(app.database, key)).status).toBe('in_progress');
  });
});
