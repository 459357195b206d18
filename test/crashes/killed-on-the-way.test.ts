import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow, lapse } from '../support/idempotent-app.js';
import { needsOneServer } from '../support/one-server.js';
import { platformNames } from '../support/listen.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';

// The handler goes on while the outcome of a foreign phase is recorded. A process that dies
// meanwhile leaves that phase in doubt, as if it had died in the call.
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE TABLE charges (id serial, name text, effect_key uuid)');
});
beforeEach(() => database.query('TRUNCATE charges').then(() => undefined));
afterAll(() => database.drop());

/** On a cluster the outcome travels by itself, and its statement waits on another node. */
const test = needsOneServer('statements that several entries share');

/** The other system's books. */
const charges = () =>
  database.query<{ name: string; effect_key: string }>(
    'SELECT name, effect_key FROM charges ORDER BY id',
  );

const post = ({ url }: ServerProcess, path: string, key: string) => send(`${url}/${path}`, { key });

describe.each(platformNames)('A process on %s that is killed', (platform) => {
  const start = (hold = '') =>
    startServer('test/servers/two-charges', {
      platform,
      env: { DATABASE: database.url, HOLD: hold },
    });
  let successor: ServerProcess;
  beforeAll(async () => {
    successor = await start();
  });

  /** While the statement with the outcome of this call, and what travels with it, waits for the key's row. */
  async function killAfter(call: string, path: string, key: string): Promise<void> {
    const server = await start(call);
    const answer = post(server, path, key).catch(() => 'cut off');
    await server.event(call);
    await withTransaction(database, async (tx) => {
      await tx.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
      await server.ask('goOn');
      await untilBlocked(database);
      await server.kill();
      // The server's session ends with its lock wait, so that it cannot commit after all.
      await tx.query(
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
    });
    expect(await answer).toBe('cut off');
    await lapse(database, key);
  }

  test.each([
    ['with the intent of the next phase', 'first', ['first', 'first', 'second']],
    ['with the answer', 'second', ['first', 'second', 'second']],
  ])('%s on its way repeats a call under its key', async (_, call, expected) => {
    const key = randomUUID();
    await killAfter(call, 'repeatable', key);

    const retry = await post(successor, 'repeatable', key);

    expect([retry.status, retry.json()]).toEqual([201, { charged: 2 }]);
    const made = await charges();
    expect(made.map(({ name }) => name)).toEqual(expected);
    expect(new Set(made.map(({ effect_key }) => effect_key)).size).toBe(2);
    expect((await keyRow(database, key)).attempt).toBe(2);
  });

  test.each([
    ['with the intent of the next phase', 'first', ['first']],
    ['with the answer', 'second', ['first', 'second']],
  ])('%s on its way does not repeat a call that must not be', async (_, call, expected) => {
    const key = randomUUID();
    await killAfter(call, 'once', key);

    const retry = await post(successor, 'once', key);

    expect([retry.status, retry.json().code]).toEqual([409, 'outcome_unknown']);
    expect((await charges()).map(({ name }) => name)).toEqual(expected);
    expect((await keyRow(database, key)).status).toBe('unknown');
  });
});
