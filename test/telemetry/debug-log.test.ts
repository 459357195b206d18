import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

const SCOPE = 'scope-of-the-customer';
const ITEM = 'item-in-the-body';
const KEYS = {
  fresh: 'key-of-a-fresh-order',
  failing: 'key-of-a-failing-order',
  stolen: 'key-of-a-stolen-order',
};

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** One of everything that is worth a line. */
async function traffic(server: ServerProcess): Promise<void> {
  const order = (path: string, key: string, item = ITEM) =>
    send(`${server.url}/orders${path}`, { key, body: { item }, headers: { 'x-customer': SCOPE } });
  await order('', KEYS.fresh);
  await order('', KEYS.fresh);
  await order('', KEYS.fresh, 'another item');
  await order('/failing-once', KEYS.failing);
  await order('/failing-once', KEYS.failing);
  await order('/losing-the-lease', KEYS.stolen);
  await server.ask('reap');
}

/** The lines of the debug log, without the process id. */
function debugLines({ output }: ServerProcess): string[] {
  return [...output.matchAll(/^IDEMPOTENCY \d+: (.*)$/gm)].map(([, line]) => line!);
}

const idOf = async (key: string) => {
  const [row] = await database.query<{ id: string }>(
    'SELECT id FROM idempotency_keys WHERE key = $1',
    [key],
  );
  return row!.id;
};

describe('The debug log', () => {
  it('NODE_DEBUG=idempotency shows what happens to each key, and no key, scope or body', async () => {
    const server = await startServer('test/servers/debugged-orders', {
      env: { DATABASE: database.url, NODE_DEBUG: 'idempotency' },
    });
    await traffic(server);
    await until(() => server.output.includes('job reaper'));

    const lines = debugLines(server);
    const [fresh, failing, stolen] = await Promise.all(Object.values(KEYS).map(idOf));
    const hash = /OrdersController\.create: key \d+ \(([0-9a-f]{8})\)/m.exec(server.output)?.[1];
    expect(lines.filter((line) => !line.startsWith('job outbox'))).toEqual([
      `OrdersController.create: key ${fresh} (${hash}) is reserved, attempt 1 begins`,
      `key ${fresh}: attempt 1 at reserved`,
      `key ${fresh}: phase order_created begins`,
      `key ${fresh}: attempt 1 at order_created:before_commit`,
      `key ${fresh}: attempt 1 at order_created:after_commit`,
      `key ${fresh}: phase order_created ends`,
      `key ${fresh}: phase charge_created begins`,
      `key ${fresh}: attempt 1 at charge_created:before_intent`,
      `key ${fresh}: attempt 1 at charge_created:after_intent`,
      `key ${fresh}: attempt 1 at charge_created:after_call`,
      `key ${fresh}: attempt 1 at charge_created:before_commit`,
      // The outcome of the last foreign phase travels with the answer.
      `key ${fresh}: attempt 1 at recording:before`,
      `key ${fresh}: attempt 1 at charge_created:after_commit`,
      `key ${fresh}: phase charge_created ends`,
      `key ${fresh}: attempt 1 at recording:after`,
      `key ${fresh}: recorded as completed`,

      `OrdersController.create: replayed, key ${hash}`,

      `OrdersController.create: refused with key_reused, key ${hash}`,

      expect.stringMatching(
        `^OrdersController\\.failOnce: key ${failing} \\([0-9a-f]{8}\\) is reserved, attempt 1 begins$`,
      ),
      `key ${failing}: attempt 1 at reserved`,
      `key ${failing}: phase order_created begins`,
      `key ${failing}: attempt 1 at order_created:before_commit`,
      `key ${failing}: attempt 1 at order_created:after_commit`,
      `key ${failing}: phase order_created ends`,
      `key ${failing}: attempt 1 at recording:before`,
      `key ${failing}: attempt 1 at recording:after`,
      `key ${failing}: recorded as failed_retryable`,

      expect.stringMatching(
        `^OrdersController\\.failOnce: key ${failing} \\([0-9a-f]{8}\\) is taken over, attempt 2 begins at order_created$`,
      ),
      `key ${failing}: attempt 2 at reserved`,
      `key ${failing}: phase order_created was finished by an earlier attempt`,
      `key ${failing}: phase order_created ends`,
      `key ${failing}: attempt 2 at recording:before`,
      `key ${failing}: attempt 2 at recording:after`,
      `key ${failing}: recorded as completed`,

      expect.stringMatching(
        `^OrdersController\\.loseTheLease: key ${stolen} \\([0-9a-f]{8}\\) is reserved, attempt 1 begins$`,
      ),
      `key ${stolen}: attempt 1 at reserved`,
      `key ${stolen}: phase charge_created begins`,
      `key ${stolen}: attempt 1 at charge_created:before_intent`,
      `key ${stolen}: attempt 1 lost its lease`,
      expect.stringMatching(`^key ${stolen}: phase charge_created fails: LeaseLostError`),
      `key ${stolen}: attempt 1 at recording:before`,
      `key ${stolen}: attempt 1 at recording:after`,
      expect.stringMatching(
        /^OrdersController\.loseTheLease: refused with lease_lost, key [0-9a-f]{8}$/,
      ),
      'job reaper: 0 row(s)',
    ]);
    for (const secret of [SCOPE, ITEM, 'another item', ...Object.values(KEYS)]) {
      expect(server.output).not.toContain(secret);
    }
  });

  it('without it, there is no such line', async () => {
    await database.query('TRUNCATE idempotency_keys, idempotency_phases');
    const server = await startServer('test/servers/debugged-orders', {
      env: { DATABASE: database.url, NODE_DEBUG: undefined },
    });
    await traffic(server);
    await server.terminate();

    expect(debugLines(server)).toEqual([]);
  });
});
