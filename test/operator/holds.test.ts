import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { auditOf, operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { predict } from '../../lib/operator/page/prediction.js';
import { insertKey } from './key-states.js';

const routes = new PolicyRoutes({ orders: {}, gone: { onExpired: 'gone' } });
const by = { who: 'legal@example.com', why: 'case 12/2026' };

forEachPlatform('A key that somebody holds', (platform) => {
  let app: IdempotentApp;
  let key: string;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    key = randomUUID();
    routes.answers((execution) => ({ execution }));
  });

  const ask = (path = 'orders') => send(`${app.url}/${path}`, { key });
  const idOf = async () => (await keyRow(app.database, key)).id as string;
  const operator = () => operatorOf(app);

  async function pastRetention(): Promise<void> {
    await app.database.query(
      `UPDATE idempotency_keys SET expires_at = now() - interval '1 day' WHERE key = $1`,
      [key],
    );
  }

  it.each(['orders', 'gone'])(
    'is replayed past its retention, and the reaper leaves it (%s)',
    async (path) => {
      const first = await ask(path);
      const id = await idOf();
      expect(await operator().hold(id, by)).toMatchObject({
        changed: true,
        before: { status: 'completed' },
        after: { status: 'completed', held: true },
      });
      const during = await ask(path);
      expect(during.headers.get('idempotency-key-expires')).toBe(
        first.headers.get('idempotency-key-expires'),
      );

      await pastRetention();
      await runJob(app, 'reaper');
      const late = await ask(path);
      expect([late.status, late.text]).toEqual([201, first.text]);
      expect(late.headers.get('idempotent-replayed')).toBe('true');
      // A date that has passed would be a lie.
      expect(late.headers.get('idempotency-key-expires')).toBeNull();
      expect(routes.executions).toBe(1);

      expect(await operator().releaseHold(id, by)).toMatchObject({
        changed: true,
        before: { held: true },
        after: { status: 'completed' },
      });
      await runJob(app, 'reaper');
      const after = await ask(path);
      if (path === 'gone') expect(after.status).toBe(410);
      else expect(after.json()).toEqual({ execution: 2 });
    },
  );

  it('is neither removed nor expired by people', async () => {
    await ask();
    const id = await idOf();
    await operator().hold(id, by);
    for (const refused of [
      await operator().evict(id, by),
      await operator().expire(id, by),
      await operator().hold(id, by),
    ]) {
      expect(refused).toMatchObject({ changed: false, reason: 'held' });
    }
    const [shown] = (await operator().find({ id })).keys;
    expect(predict(shown!, { action: 'evict' }, undefined).possible).toBe(false);
    expect(predict(shown!, { action: 'expire' }, undefined).possible).toBe(false);
    expect(predict(shown!, { action: 'release_hold' }, undefined).possible).toBe(true);
    expect((await ask()).json()).toEqual({ execution: 1 });

    await operator().releaseHold(id, by);
    expect(await operator().releaseHold(id, by)).toMatchObject({ reason: 'not_held' });
    expect(await operator().evict(id, by)).toMatchObject({ changed: true });
  });

  it('is not closed with 408 while it is open, and its client can still go on', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new Error('a bug');
      return { execution };
    });
    expect((await ask()).status).toBe(500);
    await operator().hold(await idOf(), by);
    await pastRetention();
    await runJob(app, 'reaper');
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
    expect((await ask()).json()).toEqual({ execution: 2 });
    const row = await keyRow(app.database, key);
    expect([row.status, row.held_at !== null]).toEqual(['completed', true]);
  });

  it('may run while it is held', async () => {
    const gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
    const running = ask();
    await gate.arrived();
    expect(await operator().hold(await idOf(), by)).toMatchObject({
      changed: true,
      after: { status: 'in_progress', held: true },
    });
    gate.open();
    expect((await running).status).toBe(201);
    expect((await keyRow(app.database, key)).held_at).toBeInstanceOf(Date);
  });

  it('is found and shown as held, with who and why', async () => {
    await ask();
    const id = await idOf();
    const find = async (held?: boolean) =>
      (await operator().find({ id, ...(held !== undefined && { held }) })).keys.length;
    expect([await find(true), await find(false)]).toEqual([0, 1]);
    await operator().hold(id, by);
    expect([await find(true), await find(false), await find()]).toEqual([1, 0, 1]);
    const report = await operator().inspect(id);
    expect(report).toMatchObject({ heldAt: expect.any(Date), audit: [{ action: 'hold', ...by }] });
    expect(report!.timeline.map(({ what }) => what)).toContain(`hold by ${by.who}`);
    await operator().releaseHold(id, 'legal');
    expect((await operator().inspect(id))!.heldAt).toBeNull();
    expect(
      (await auditOf(app.database, key)).map(({ action, before, after }) => ({
        action,
        before: before.held,
        after: after.held,
      })),
    ).toEqual([
      { action: 'hold', before: undefined, after: true },
      { action: 'release_hold', before: true, after: undefined },
    ]);
  });

  it.each(['pending', 'lapsed', 'performed', 'unknown, in doubt', 'expired'] as const)(
    'may be in any state (%s)',
    async (state) => {
      const { id } = await insertKey(app.database, state);
      const held = await operator().hold(id, by);
      expect(held).toMatchObject({ changed: true, after: { held: true } });
      await app.database.query(
        `UPDATE idempotency_keys SET expires_at = now() - interval '1 day' WHERE id = $1`,
        [id],
      );
      const [before] = (await operator().find({ id })).keys;
      await runJob(app, 'reaper');
      expect((await operator().find({ id })).keys).toEqual([before]);
    },
  );

  it('needs a name and an id that exists', async () => {
    expect(await operator().hold('1', '')).toMatchObject({ reason: 'invalid' });
    expect(await operator().hold('999999999', by)).toMatchObject({ reason: 'not_found' });
    expect(await operator().releaseHold('nonsense', by)).toMatchObject({ reason: 'not_found' });
  });
});
