import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestDatabase } from '../support/database.js';
import type { Received } from '../support/http.js';
import type { PlatformName } from '../support/listen.js';
import type { ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';
import { createOrdersDatabase, executions, order, startOrders } from './orders.js';

/** What belongs to the answer, and not to the connection or the process that sent it. */
const KEPT = [
  'content-type',
  'content-length',
  'content-language',
  'content-location',
  'etag',
  'idempotency-key-expires',
  'last-modified',
  'location',
];

function kept({ headers }: Received) {
  return Object.fromEntries(KEPT.map((name) => [name, headers.get(name)]));
}

describe('A key answered by one deployment', () => {
  let database: TestDatabase;
  let servers: Record<'blue' | 'green', Record<PlatformName, ServerProcess>>;

  beforeAll(async () => {
    database = await createOrdersDatabase();
    const start = async (deployment: string) => {
      const [express, fastify] = await Promise.all([
        startOrders(database, { platform: 'express', deployment }),
        startOrders(database, { platform: 'fastify', deployment }),
      ]);
      return { express, fastify };
    };
    const [blue, green] = await Promise.all([start('blue'), start('green')]);
    servers = { blue, green };
  });
  afterAll(() => database.drop());

  it.each([
    { from: 'express', to: 'express' },
    { from: 'express', to: 'fastify' },
    { from: 'fastify', to: 'express' },
    { from: 'fastify', to: 'fastify' },
  ] as const)('is replayed unchanged by another one ($from to $to)', async ({ from, to }) => {
    const wanted = { key: `${from}-${to}`, route: 'documents', item: 'é\u2028\ud83d\ude80' };
    const first = await order(servers.blue[from], wanted);
    const replay = await order(servers.green[to], wanted);

    expect(first.status).toBe(201);
    expect(first.json().by).toBe('blue');
    expect(kept(first)).toMatchObject({ etag: '"blue"', location: '/documents/blue' });
    expect(Object.values(kept(first))).not.toContain(null);

    expect(replay.status).toBe(201);
    expect(replay.body).toEqual(first.body);
    expect(kept(replay)).toEqual(kept(first));
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    // Not among the headers that are kept, so it speaks of whoever answers now.
    expect(first.headers.get('x-deployment')).toBe('blue');
    expect(replay.headers.get('x-deployment')).not.toBe('blue');
    expect(await executions(database, wanted.key)).toBe(1);
  });

  it('has the same fingerprint on both adapters', async () => {
    const wanted = { key: 'misused', route: 'documents' };
    await order(servers.blue.express, wanted);
    const other = await order(servers.green.fastify, { ...wanted, item: 'balloon' });
    expect(other.status).toBe(422);
    expect(other.json().code).toBe('key_reused');
  });

  it('is waited for by the other adapter while it runs', async () => {
    const wanted = { key: 'in-progress', route: 'awaited-orders' };
    const before = await servers.green.fastify.ask('requests');
    const first = order(servers.blue.express, { ...wanted, hold: true });
    await until(() => executions(database, wanted.key), 'the handler began');
    const waiting = order(servers.green.fastify, wanted);
    await until(
      async () => (await servers.green.fastify.ask('requests')) !== before,
      'the duplicate has arrived',
    );
    await servers.blue.express.ask('open', wanted.key);
    expect((await waiting).body).toEqual((await first).body);
    expect(await executions(database, wanted.key)).toBe(1);
  });
});
