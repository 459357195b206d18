import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { expectRetryable } from '../support/refusals.js';
import { ShutdownProbe, untilShutdown } from '../support/shutdown-probe.js';
import { FINISH, RESERVE } from '../support/store-statements.js';
import { untilWaiting } from '../support/waiting.js';

forEachPlatform('Shutdown', (platform) => {
  const routes = new PolicyRoutes({
    orders: {},
    awaited: { onInProgress: 'wait', waitFor: '55s' },
  });
  let database: TestDatabase;
  let app: ProxiedApp;
  let gate: Barrier;

  beforeEach(async () => {
    database = await createTestDatabase();
    app = await startProxiedApp(platform, {
      controllers: [routes.controller, ShutdownProbe],
      database,
    });
    gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });

  const order = (key: string, path = 'orders', signal?: AbortSignal): Promise<Received> =>
    send(`${app.url}/${path}`, { key, ...(signal && { signal }) });

  /** Begins to shut down, and returns once the application has noticed. */
  async function shutDown() {
    let closed = false;
    const closing = app.close().then(() => (closed = true));
    await untilShutdown(app.url);
    return { closing, isClosed: () => closed };
  }

  it('finishes and records running requests, and starts no new one', async () => {
    const running = order('running');
    await gate.arrived();
    const { closing, isClosed } = await shutDown();

    expectRetryable(await order('new'), 503, 'store_unavailable');
    expect(isClosed()).toBe(false);
    expect(routes.executions).toBe(1);

    gate.open();
    expect((await running).json()).toEqual({ execution: 1 });
    await closing;
    expect(await keyRow(database, 'running')).toMatchObject({ status: 'completed' });
    await expect(keyRow(database, 'new')).rejects.toThrow('no row');
  });

  it('finishes and records requests whose clients have left', async () => {
    const client = new AbortController();
    const left = order('left', 'orders', client.signal).catch((error: Error) => error);
    await gate.arrived();
    client.abort();
    expect(await left).toMatchObject({ name: 'AbortError' });
    const { closing, isClosed } = await shutDown();
    expect(isClosed()).toBe(false);

    gate.open();
    await closing;
    expect(await keyRow(database, 'left')).toMatchObject({ status: 'completed' });
  });

  it('waits for a slow recording', async () => {
    const reply = app.proxy.holdReply(FINISH);
    gate.open();
    const running = order('recording');
    await reply.reached;
    const { closing, isClosed } = await shutDown();
    expect(isClosed()).toBe(false);

    reply.release();
    expect((await running).status).toBe(201);
    await closing;
  });

  it('finishes and records a request that was about to start', async () => {
    const reply = app.proxy.holdReply(RESERVE);
    const client = new AbortController();
    const arriving = order('arriving', 'orders', client.signal).catch((error: Error) => error);
    await reply.reached;
    const { closing, isClosed } = await shutDown();
    // With its client gone, nothing but the module itself knows of it.
    client.abort();
    await arriving;
    reply.release();
    await gate.arrived();
    expect(isClosed()).toBe(false);

    gate.open();
    await closing;
    expect(await keyRow(database, 'arriving')).toMatchObject({ status: 'completed' });
  });

  it('refuses duplicates that wait for another attempt', async () => {
    const running = order('awaited', 'awaited');
    await gate.arrived();
    const waiting = order('awaited', 'awaited');
    await untilWaiting(app, 1);
    const { closing } = await shutDown();

    expectRetryable(await waiting, 409, 'in_progress');
    gate.open();
    expect((await running).status).toBe(201);
    await closing;
  });
});
