import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { lapse } from '../support/idempotent-app.js';
import { startServer } from '../support/server-process.js';
import { mutate } from './shop.js';

describe('A process that is killed in the foreign phase of a mutation', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('CREATE TABLE parcels (id serial, item text NOT NULL)');
  });
  afterAll(() => database?.drop());

  it('leaves it to the retry, in another process, which goes on there', async () => {
    const start = (platform: 'express' | 'fastify', env = {}) =>
      startServer('test/servers/parcels', { platform, env: { DATABASE: database.url, ...env } });
    const [first, second] = await Promise.all([
      start('express', { HOLD: 'yes' }),
      start('fastify'),
    ]);
    const document = 'mutation { sendParcel(item: "tea") { id item sentAt } }';
    const lost = mutate(first.url, document, { key: 'killed' }).catch(() => 'no answer');
    const effectKey = await first.event('called');
    const meanwhile = await mutate(second.url, document, { key: 'killed' });
    expect(meanwhile.errors).toMatchObject([{ extensions: { code: 'in_progress' } }]);
    await first.kill();
    expect(await lost).toBe('no answer');

    await lapse(database, 'killed');
    const retry = await mutate(second.url, document, { key: 'killed' });
    expect(retry.data).toEqual({
      sendParcel: { id: '1', item: 'tea', sentAt: '1970-01-01T00:00:00.000Z' },
    });
    expect(await second.event('called')).toBe(effectKey);
    expect(await database.query('SELECT count(*)::int AS parcels FROM parcels')).toEqual([
      { parcels: 1 },
    ]);
    const replay = await mutate(second.url, document, { key: 'killed' });
    expect(replay.data).toEqual(retry.data);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });
});
