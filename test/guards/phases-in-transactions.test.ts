import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const AT_ONCE = 12;

const inHandler = [
  'data-source',
  'foreign',
  'query-runner',
  'typeorm-transactional/above',
  'typeorm-transactional/below',
  'typeorm-transactional/service',
  'cls/above',
  'cls/below',
  'cls/service',
];
const aroundPhased = ['around/phased', 'around-transactional/phased', 'behind-middleware/phased'];

// The routes are in test/servers/transactions.ts, in a process of their own: Jest
// cannot load nestjs-cls, which is CommonJS and requires the ES modules of Nest.
forEachPlatform('Phases in transactions', (platform) => {
  describe.each([1, 2, 5])('with a pool of %i', (connections) => {
    let database: TestDatabase;
    let server: ServerProcess;
    beforeAll(async () => {
      database = await createTestDatabase();
      await database.query('CREATE TABLE notes (id serial, note text NOT NULL)');
      const env = { DATABASE: database.url, CONNECTIONS: String(connections) };
      server = await startServer('test/servers/transactions', { platform: platform.name, env });
    });
    afterAll(async () => {
      await server.kill();
      await database.drop();
    });

    const sendAll = (route: string, keyed = true) =>
      Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) =>
          send(`${server.url}/${route}`, keyed ? { key: `${route}-${i}` } : {}),
        ),
      );
    const expectRefusals = async (answers: Received[], message: RegExp) => {
      for (const answer of answers) {
        expect(answer.status).toBe(500);
        expect(answer.json().message).toMatch(message);
      }
      expect(await database.query('SELECT note FROM notes')).toEqual([]);
      expect(await database.query('SELECT name FROM idempotency_phases')).toEqual([]);
    };
    const inside =
      /^PhaseUsageError: Phase "\w+" of TransactionsController\.\w+ was started inside an open transaction of the same request\..*Remove the transaction around it/;

    it.each(inHandler)(
      'are refused at once inside %s, and the error says what to do',
      async (route) => {
        await expectRefusals(await sendAll(route), inside);
      },
    );

    it.each(inHandler)('are refused without a key as well inside %s', async (route) => {
      await expectRefusals(await sendAll(route, false), inside);
    });

    it.each(aroundPhased)('are refused before the key is reserved: %s', async (route) => {
      const around = /is phased, but its request has a transaction open already.*Remove/;
      await expectRefusals(await sendAll(route), around);
      expect(
        await database.query('SELECT key FROM idempotency_keys WHERE key LIKE $1', [`${route}%`]),
      ).toEqual([]);
    });
  });
});
