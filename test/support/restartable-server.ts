import { Client, Pool } from 'pg';
import { startEmbeddedPostgres } from '../../sample-app/database/embedded-postgres.mjs';
import { migrate } from '../../sample-app/database/migrate.js';
import type { TestDatabase } from './database.js';

/** A database server of a test's own, which may crash. */
export interface RestartableServer {
  database: TestDatabase;
  /**
   * Stops the server as a crash does, without a checkpoint, and starts it again.
   * `down` resolves when its connections are cut, `up` when it answers again.
   */
  crash(): { down: Promise<void>; up: Promise<void> };
  stop(): Promise<void>;
}

/** With the tables of the library and of the sample application. */
export async function startRestartableServer(): Promise<RestartableServer> {
  // Never the server of DATABASE_URL: that one is not ours to restart.
  const server = await startEmbeddedPostgres({ durable: false });
  const { url } = server;
  await migrate(url);
  const pool = new Pool({ connectionString: url, allowExitOnIdle: true });
  pool.on('error', () => undefined); // it notices the crashes too

  async function stop(): Promise<void> {
    await pool.end();
    await server.stop();
  }

  return {
    database: {
      name: 'postgres',
      url,
      dataSourceOptions: { type: 'postgres', url },
      pool,
      async query<Row>(sql: string, parameters: unknown[] = []) {
        return (await pool.query(sql, parameters)).rows as Row[];
      },
      drop: stop,
    },
    crash() {
      const witness = new Client({ connectionString: url });
      witness.on('error', () => undefined);
      const connected = witness.connect();
      return {
        down: connected.then(() => new Promise<void>((ended) => witness.once('end', ended))),
        up: connected.then(() => server.restart()),
      };
    },
    stop,
  };
}
