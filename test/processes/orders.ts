import type { IdempotencyModuleOptions } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received, type Sending } from '../support/http.js';
import type { PlatformName } from '../support/listen.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

export interface OrdersServerOptions {
  platform: PlatformName;
  /** Options of the module, as far as they can be written as JSON. */
  idempotency?: Partial<IdempotencyModuleOptions>;
  /** The size of the process's connection pool. */
  connections?: number;
  /** Appears in the answers as `by`. */
  deployment?: string;
}

/** Starts test/servers/orders.ts, any number of times on one database. */
export function startOrders(
  database: TestDatabase,
  { platform, idempotency = {}, connections, deployment }: OrdersServerOptions,
): Promise<ServerProcess> {
  return startServer('test/servers/orders', {
    platform,
    env: {
      DATABASE: database.url,
      IDEMPOTENCY: JSON.stringify(idempotency),
      CONNECTIONS: connections === undefined ? undefined : String(connections),
      DEPLOYMENT: deployment,
    },
  });
}

export async function createOrdersDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(
    'CREATE TABLE executions (id bigint GENERATED ALWAYS AS IDENTITY, key text NOT NULL)',
  );
  return database;
}

/** How often handlers began, in all processes together. */
export async function executions(database: TestDatabase, key?: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'SELECT count(*)::int FROM executions WHERE key = coalesce($1, key)',
    [key],
  );
  return row!.count;
}

export interface Order {
  key: string;
  /** One of the routes of test/servers/orders.ts, each with a policy of its own. @default 'orders' */
  route?: string;
  /** Stops the handler until `server.ask('open', key)`. Not part of the fingerprint. */
  hold?: boolean;
  item?: string;
}

export function order(server: ServerProcess, wanted: Order): Promise<Received> {
  const { key, route = 'orders', hold, item = 'rocket' } = wanted;
  const sending: Sending = { key, body: { item }, headers: hold ? { 'x-hold': 'yes' } : {} };
  return send(`${server.url}/${route}`, sending);
}
