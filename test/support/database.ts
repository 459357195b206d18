import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { run } from './citus-nodes.mjs';
import { onCluster, SERVERS } from './cluster.js';

export interface Queryable {
  query<Row = Record<string, any>>(sql: string, parameters?: unknown[]): Promise<Row[]>;
}

export interface TestDatabase extends Queryable {
  name: string;
  /** For the application under test: through the proxy of `DATABASE_PROXY_URL`, if there is one. */
  url: string;
  /** For `TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true })`. */
  dataSourceOptions: { type: 'postgres'; url: string };
  /** The test's own connections, apart from the ones of the application under test. */
  pool: Pool;
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** False gives an empty database, without the library's tables. @default true */
  migrated?: boolean;
  /** The language whose order is the default of the database, such as `en-US`. It is empty then. */
  language?: string;
}

/** Citus allows triggers on distributed tables only to sessions that ask for it. */
const SESSION = onCluster ? { options: '-c citus.enable_unsafe_triggers=on' } : {};

/**
 * A database for one test file. The run's teardown drops what a failed test
 * left, so forgetting `drop()` costs disk space until then, and nothing else.
 */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `${setting('TEST_DATABASE_PREFIX')}_${randomBytes(6).toString('hex')}`;
  await onServers(`CREATE DATABASE ${name} TEMPLATE ${templateFor(options)}`);

  // The test's own sessions and locks are on the server itself.
  const direct = databaseUrl(name, setting('TEST_SERVER_URL'));
  const url = databaseUrl(name, process.env.DATABASE_PROXY_URL ?? direct);
  const pool = new Pool({ connectionString: direct, max: 5, allowExitOnIdle: true, ...SESSION });
  // Tests cut connections and restart servers; without a listener, an idle
  // connection that notices would end the whole worker.
  pool.on('error', () => undefined);

  return {
    name,
    url,
    dataSourceOptions: { type: 'postgres', url },
    pool,
    async query<Row>(sql: string, parameters: unknown[] = []) {
      const result = await pool.query(sql, parameters);
      return result.rows as Row[];
    },
    async drop() {
      await pool.end();
      // FORCE: a server process that a test has killed or stopped may still be connected.
      await onServers(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

function templateFor({ migrated, language }: TestDatabaseOptions): string {
  const copy = process.env.TEST_DATABASE_COPY ?? '';
  if (language !== undefined) {
    // Only a copy of template0 may have another order.
    return `template0 LOCALE_PROVIDER icu ICU_LOCALE '${language}' LOCALE 'C' ${copy}`;
  }
  return `${migrated === false ? 'template1' : setting('TEST_DATABASE_TEMPLATE')} ${copy}`;
}

/**
 * There are several only if the tests run on a Citus cluster: see citus-nodes.mjs. The coordinator
 * comes first: it connects to the workers for as long as it has the database.
 */
async function onServers(statement: string): Promise<void> {
  for (const server of SERVERS) await run(server, statement);
}

function databaseUrl(name: string, server: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: test/support/global-setup.mjs did not run.`);
  return value;
}
