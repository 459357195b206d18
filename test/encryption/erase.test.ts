import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { behaviour, FIRST, secret, startSecretsApp } from './secrets-app.js';

forEachPlatform('An erased scope', (platform) => {
  let database: TestDatabase;
  /** The second one has data keys in its memory for as long as these tests take. */
  let apps: [IdempotentApp, IdempotentApp];

  beforeAll(async () => {
    database = await createTestDatabase();
    const start = (maxAge: string) =>
      startSecretsApp(
        platform,
        { keys: [FIRST], dataKeyCache: { maxAge } },
        { database, dataSource: { extra: { max: 2 } } },
      );
    apps = [await start('30s'), await start('1h')];
  });
  afterAll(async () => {
    for (const app of apps) await app.close();
    await database.drop();
  });
  beforeEach(() => {
    behaviour.failures = [];
    behaviour.hold = undefined;
  });

  const post = (app: IdempotentApp, user: string, path: string, key: string) =>
    send(`${app.url}/${path}`, { key, body: secret('body'), headers: { 'x-user': user } });

  const dataKeys = (scope: string) =>
    database.query('SELECT id FROM idempotency_data_keys WHERE scope = $1', [scope]);

  it('answers 410 for its keys in every process, and goes on with a new data key', async () => {
    for (const key of ['a', 'b']) {
      for (const app of apps) expect((await post(app, 'ada', 'plain/x', key)).status).toBe(201);
    }
    expect((await post(apps[0], 'bob', 'plain/x', 'a')).status).toBe(201);
    const before = await dataKeys('ada');
    const erased = await operatorOf(apps[0]).erase('ada', { who: 'eve', why: 'she asked' });
    expect(erased).toEqual({ erased: true, keys: 2, lost: { keys: [], messages: [] } });
    expect(await dataKeys('ada')).toEqual([]);
    for (const app of apps) {
      for (const key of ['a', 'b']) {
        expect((await post(app, 'ada', 'plain/x', key)).status).toBe(410);
      }
      expect((await post(app, 'bob', 'plain/x', 'a')).status).toBe(201);
    }
    expect((await post(apps[0], 'ada', 'plain/x', 'new')).status).toBe(201);
    expect(await dataKeys('ada')).not.toEqual(before);
    // The other process reads the new data key when it meets it.
    expect((await post(apps[1], 'ada', 'plain/x', 'new')).status).toBe(201);
    const { id } = await keyRow(database, 'b');
    expect(await operatorOf(apps[1]).inspect(id)).toMatchObject({ status: 'expired', path: null });
    const audit = await database.query(
      `SELECT who, why, before FROM idempotency_audit WHERE scope = 'ada' AND action = 'erase'`,
    );
    expect(audit).toMatchObject([
      { who: 'eve', why: 'she asked', before: { dataKey: before[0]!.id } },
    ]);
    expect(await operatorOf(apps[0]).erase('nobody', 'eve')).toMatchObject({ reason: 'not_found' });
    expect(await operatorOf(apps[0]).erase('ada', '')).toMatchObject({ reason: 'invalid' });
  });

  it('is not erased while something is open, unless forced: then all of it is named', async () => {
    const held = barrier();
    behaviour.hold = held.pass;
    const running = post(apps[1], 'cy', 'phased', 'running');
    await held.arrived();
    behaviour.hold = undefined;
    behaviour.failures = [
      () => {
        throw new Error('timed out');
      },
    ];
    expect((await post(apps[0], 'cy', 'phased', 'doubtful')).status).toBe(409);
    const operator = operatorOf(apps[0]);
    const refused = await operator.erase('cy', 'eve');
    expect(refused).toMatchObject({
      erased: false,
      reason: 'in_doubt',
      open: {
        keys: [{ status: 'in_progress' }, { status: 'unknown', phase: 'charged' }],
        messages: [{ topic: 'notes', dead: false }, { topic: 'notes' }],
      },
    });
    expect(await dataKeys('cy')).toHaveLength(1);

    const forced = await operator.erase('cy', 'eve', { force: true });
    expect(forced).toMatchObject({ erased: true, keys: 2 });
    if (!forced.erased || refused.erased) throw new Error('It was not forced.');
    expect(forced.lost.keys).toHaveLength(2);
    expect(forced.lost.messages).toHaveLength(2);
    const doubt = forced.lost.keys.find(({ status }) => status === 'unknown')!;
    expect(doubt).toMatchObject({ phase: 'charged', effectKey: expect.any(String) });
    const [entry] = await database.query(
      'SELECT * FROM idempotency_audit WHERE effect_key = $1 AND action = $2',
      [doubt.effectKey, 'erase'],
    );
    expect(entry).toMatchObject({ key_id: doubt.id, before: { status: 'unknown' } });

    // The request that ran meanwhile is told that its lease is lost, and makes no call.
    behaviour.failures = [
      () => {
        throw new Error('The call was made.');
      },
    ];
    held.open();
    expect((await running).status).toBe(409);
    expect(behaviour.failures).toHaveLength(1);
    for (const app of apps) {
      for (const key of ['running', 'doubtful']) {
        expect((await post(app, 'cy', 'phased', key)).status).toBe(410);
      }
    }
    expect(await database.query(`SELECT FROM idempotency_phases WHERE scope = 'cy'`)).toEqual([]);
    expect(await database.query(`SELECT FROM idempotency_outbox WHERE scope = 'cy'`)).toEqual([]);
  });

  it('is not erased while a key is held, not even by force', async () => {
    expect((await post(apps[0], 'di', 'plain/x', 'held')).status).toBe(201);
    const { id } = await keyRow(database, 'held');
    const operator = operatorOf(apps[0]);
    await operator.hold(id as string, 'legal');
    for (const force of [false, true]) {
      expect(await operator.erase('di', 'eve', { force })).toMatchObject({
        erased: false,
        reason: 'held',
      });
    }
    expect(await dataKeys('di')).toHaveLength(1);
    await operator.releaseHold(id as string, 'legal');
    expect(await operator.erase('di', 'eve')).toMatchObject({ erased: true, keys: 1 });
  });

  it('does not run again what a process with the old data key recorded after the erasure', async () => {
    expect((await post(apps[1], 'dan', 'plain/x', 'a')).status).toBe(201);
    expect(await operatorOf(apps[0]).erase('dan', 'eve')).toMatchObject({ erased: true });
    const late = await post(apps[1], 'dan', 'plain/x', 'late');
    expect(late.status).toBe(201);
    const { runs } = behaviour;
    // Its record is sealed with a key that nobody can read any more: done, and gone.
    expect((await post(apps[0], 'dan', 'plain/x', 'late')).status).toBe(410);
    expect(behaviour.runs).toBe(runs);
    expect(await keyRow(database, 'late')).toMatchObject({ status: 'completed' });
    expect(await operatorOf(apps[0]).erase('dan', 'eve')).toMatchObject({ erased: true });
    expect(await keyRow(database, 'late')).toMatchObject({ status: 'expired' });
  });
});
