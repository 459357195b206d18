import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { untilShutdown } from '../support/shutdown-probe.js';

forEachPlatform('A process that gets SIGTERM', (platform) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  function start(shutdownTimeout: string): Promise<ServerProcess> {
    return startServer('test/servers/graceful-orders', {
      platform: platform.name,
      env: { DATABASE: database.url, SHUTDOWN_TIMEOUT: shutdownTimeout },
    });
  }

  it('finishes and records running requests', async () => {
    const server = await start('30s');
    const running = send(`${server.url}/orders`, { key: 'finished' });
    await server.event('began');
    const client = new AbortController();
    const { signal } = client;
    const left = send(`${server.url}/orders`, { key: 'left', signal }).catch(() => 'left');
    await server.event('began');
    client.abort();
    expect(await left).toBe('left');

    const ended = server.terminate();
    expectRetryable(await untilShutdown(server.url), 503, 'store_unavailable');
    await server.ask('open');

    expect((await running).json()).toEqual({ order: 'finished' });
    await ended;
    for (const key of ['finished', 'left']) {
      expect(await keyRow(database, key)).toMatchObject({ status: 'completed', attempt: 1 });
    }
    expect(await server.exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('gives up a lease that does not finish in time, so that a retry need not wait for it', async () => {
    const server = await start('100ms');
    const hung = send(`${server.url}/orders`, { key: 'hung' }).catch((error: Error) => error);
    await server.event('began');
    void server.terminate();
    expect(await server.event('aborted')).toBe('hung');

    const [row] = await database.query(
      `SELECT status, locked_until <= now() AS lapsed FROM idempotency_keys WHERE key = 'hung'`,
    );
    expect(row).toEqual({ status: 'in_progress', lapsed: true });
    await server.kill();
    expect(await hung).toMatchObject({ code: 'ECONNRESET' });
  });
});
