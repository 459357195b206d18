import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { startServer } from '../support/server-process.js';
import { until } from '../support/until.js';

// Routes of test/servers/transactions.ts behind an interceptor that gives each request a transaction.
forEachPlatform('A transaction around a plain route', (platform) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('CREATE TABLE notes (id serial, note text NOT NULL)');
  });
  afterAll(() => database.drop());

  const start = (connections: number, env = {}) =>
    startServer('test/servers/transactions', {
      platform: platform.name,
      env: { DATABASE: database.url, CONNECTIONS: String(connections), ...env },
    });

  it('lets the handler run, and its answer is kept', async () => {
    const server = await start(5);
    const answers = [
      await send(`${server.url}/around/plain`, { key: 'plain' }),
      await send(`${server.url}/around/plain`, { key: 'plain' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers[1]!.headers.get('idempotent-replayed')).toBe('true');
    await server.kill();
  });

  it('refuses a phase, even if the route is not phased', async () => {
    const server = await start(5);
    const answer = await send(`${server.url}/around/not-phased`, { key: 'not-phased' });
    expect(answer.json().message).toMatch(/inside an open transaction of the same request/);
    expect(await database.query('SELECT note FROM notes')).toEqual([]);
    await server.kill();
  });

  it('that leaves no connection for the key is named in the log', async () => {
    const server = await start(1, { STORE_TIMEOUT: '200ms' });
    const answer = await send(`${server.url}/around/plain`, { key: 'no-connection' });
    expect(answer.status).toBe(503);
    const cause =
      /No key could be reserved for InterceptedController\.plain: .* while the request had a transaction open already/;
    await until(() => cause.test(server.output), 'the warning');
    await server.kill();
  });
});
