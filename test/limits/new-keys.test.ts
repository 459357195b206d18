import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Idempotency, onIdempotencyEvent, type Limits } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Received, type Sending } from '../support/http.js';
import { lapse } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { recordingLogger } from '../support/recording-logger.js';
import { expectRetryable } from '../support/refusals.js';
import { until } from '../support/until.js';

/** So slow that no further token comes while a test runs. */
const NEVER_AGAIN = 0.001;

forEachPlatform('Limits on new keys', (platform) => {
  const routes = new PolicyRoutes({
    orders: { onServerError: 'retry', onAbandoned: 'resume' },
    later: { run: 'background', onServerError: 'retry' },
    forgotten: { retention: '1h' },
  });
  const log = recordingLogger();
  const limits: Record<string, unknown> = {};
  let app: ProxiedApp;
  let account = '';
  let number = 0;

  beforeAll(async () => {
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: {
        scope: ({ headers }) => headers['x-account'],
        limits: (scope) => limits[scope] as Limits,
      },
      logger: log,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    routes.answers((execution) => ({ execution }));
    account = `account-${(number += 1)}`;
  });

  const order = (key: string, sending: Sending = {}, path = 'orders'): Promise<Received> =>
    send(`${app.url}/${path}`, { key, headers: { 'x-account': account }, body: {}, ...sending });
  const rows = async () =>
    (await app.database.query('SELECT key FROM idempotency_keys WHERE scope = $1', [account])).map(
      ({ key }) => key as string,
    );

  it('refuse what comes too fast, leave no row, and let other scopes be', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 2 };
    const events: unknown[] = [];
    const stop = onIdempotencyEvent('limited', ({ limit, route }) => events.push([route, limit]));
    expect((await order('one')).status).toBe(201);
    expect((await order('two')).status).toBe(201);
    const refused = await order('three');
    stop();

    expectRetryable(refused, 429, 'rate_limited');
    expect(refused.json()).toMatchObject({ limit: 'newKeysPerSecond' });
    expect(refused.headers.get('retry-after')).toBe('59');
    expect(await rows()).toEqual(['one', 'two']);
    expect(routes.executions).toBe(2);
    expect(events).toEqual([['PolicyController.value', 'newKeysPerSecond']]);
    expect(log.warnings.filter((line) => line.includes('limits.newKeysPerSecond'))).toHaveLength(1);
    limits.another = {};
    const other = { headers: { 'x-account': 'another' } };
    expect((await order('three', other)).status).toBe(201);
  });

  it('never refuse a replay, a mismatch, a running request, a resume or a takeover', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 4 };
    const first = await order('done');
    const gate = barrier();
    routes.answers(() => gate.pass());
    const running = order('running');
    await gate.arrived();
    routes.answers(() => {
      throw new Error('a bug');
    });
    expect((await order('failed')).status).toBe(500);
    expect((await order('dead')).status).toBe(500);
    await app.database.query(
      `UPDATE idempotency_keys SET status = 'in_progress' WHERE key = 'dead' AND scope = $1`,
      [account],
    );
    await lapse(app.database, 'dead');
    expect((await order('new')).status).toBe(429);

    routes.answers((execution) => ({ execution }));
    for (let retry = 0; retry < 10; retry++) {
      const replay = await order('done');
      expect([replay.status, replay.text]).toEqual([201, first.text]);
    }
    expect((await order('done', { body: { other: true } })).status).toBe(422);
    expectRetryable(await order('running'), 409, 'in_progress');
    expect((await order('failed')).status).toBe(201);
    expect((await order('dead')).status).toBe(201);
    expect((await order('new')).status).toBe(429);
    gate.open();
    expect((await running).status).toBe(201);
  });

  it('count new keys only: retries use none of them up', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 2 };
    await order('one');
    await Promise.all(Array.from({ length: 20 }, () => order('one')));
    expect((await order('two')).status).toBe(201);
    expect((await order('three')).status).toBe(429);
  });

  it('let no more in if many come at once', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 5, storedKeys: 100, outstanding: 50 };
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => order(`key-${n}`)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
    expect(await rows()).toHaveLength(5);
  });

  it('take a key past its retention for a new one', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 1 };
    await order('old', {}, 'forgotten');
    await app.database.query(
      `UPDATE idempotency_keys SET expires_at = now() WHERE scope = $1 AND key = 'old'`,
      [account],
    );
    expect((await order('old', {}, 'forgotten')).status).toBe(429);
    expect(routes.executions).toBe(1);
  });

  it('on what is outstanding hold while it runs, and the same key may come again', async () => {
    limits[account] = { outstanding: 2 };
    const gate = barrier();
    routes.answers(() => gate.pass());
    const running = [order('one'), order('two')];
    await gate.arrived(2);
    const refused = await order('three');
    expectRetryable(refused, 429, 'rate_limited');
    expect(refused.json()).toMatchObject({ limit: 'outstanding' });
    gate.open();
    await Promise.all(running);

    const answer = await until(async () => {
      const again = await order('three');
      return again.status !== 429 && again;
    });
    expect(answer.status).toBe(201);
  });

  it('on what is outstanding count what waits for workers and people, in any process', async () => {
    limits[account] = { outstanding: 3 };
    for (const key of ['one', 'two', 'three']) await order(key);
    await app.database.query(
      `UPDATE idempotency_keys SET
         status = CASE key WHEN 'one' THEN 'pending' WHEN 'two' THEN 'unknown' ELSE 'failed_retryable' END,
         resume_after = CASE WHEN key <> 'two' THEN now() + interval '1 hour' END,
         reconcile_after = CASE key WHEN 'two' THEN 'infinity'::timestamptz END
       WHERE scope = $1`,
      [account],
    );
    expect((await order('four', {}, 'later')).json()).toMatchObject({ limit: 'outstanding' });
    expect((await order('one')).status).toBe(202);
  });

  it('let many quick requests pass under a small limit on what is outstanding', async () => {
    limits[account] = { outstanding: 2 };
    for (let count = 0; count < 12; count++) expect((await order(`key-${count}`)).status).toBe(201);
  });

  it('on stored keys and bytes are counted over all states', async () => {
    limits[account] = { storedKeys: 3 };
    for (const key of ['one', 'two', 'three']) expect((await order(key)).status).toBe(201);
    expect((await order('four')).json()).toMatchObject({
      code: 'rate_limited',
      limit: 'storedKeys',
    });
    expect((await order('three')).status).toBe(201);

    account = `${account}-bytes`;
    limits[account] = { storedBytes: 4_000 };
    routes.answers(() => ({ text: 'x'.repeat(5_000) }));
    expect((await order('one')).status).toBe(201);
    // Compressed it is small: what counts is what is stored.
    await app.database.query(
      `UPDATE idempotency_keys SET response_body = (SELECT string_agg(sha256(n::text::bytea), '') FROM generate_series(1, 150) n) WHERE scope = $1`,
      [account],
    );
    const fill = async (n: number): Promise<Received> => {
      const answer = await order(`more-${n}`);
      return answer.status === 201 ? fill(n + 1) : answer;
    };
    const refused = await fill(0);
    expect(refused.json()).toMatchObject({ code: 'rate_limited', limit: 'storedBytes' });
    expect((await rows()).length).toBeLessThan(10);
  });

  it('whose function fails refuse new keys with 503, and nothing else', async () => {
    limits[account] = {};
    const first = await order('known');
    // Another account, whose limits nobody remembers.
    await app.database.query(`UPDATE idempotency_keys SET scope = scope || '-b' WHERE scope = $1`, [
      account,
    ]);
    account = `${account}-b`;
    expectRetryable(await order('new'), 503, 'store_unavailable');
    expect(log.errors.join()).toMatch(/limits is undefined.*or \{\} for no limits/);
    expect(await rows()).toEqual(['known']);
    expect((await order('known')).text).toBe(first.text);
    limits[account] = {};
    expect((await order('new')).status).toBe(201);
  });

  it('may come from a promise, which is asked once for many requests', async () => {
    let asked = 0;
    Object.defineProperty(limits, account, {
      get: async () => {
        asked += 1;
        await new Promise(setImmediate);
        return { newKeysPerSecond: NEVER_AGAIN, burst: 3 };
      },
    });
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => order(`key-${n}`)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(asked).toBe(1);
  });

  it('do not hold for own calls: Idempotency.run() runs', async () => {
    limits[account] = { newKeysPerSecond: NEVER_AGAIN, burst: 1, storedKeys: 1 };
    await order('one');
    expect((await order('two')).status).toBe(429);
    const calls = app.app.get(Idempotency);
    for (const key of ['a', 'b', 'c']) {
      expect(await calls.run({ scope: account, key }, () => key)).toBe(key);
    }
  });
});
