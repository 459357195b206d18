import { Client, Pool } from 'pg';
import { startEmbeddedPostgres } from '../../sample-app/database/embedded-postgres.mjs';
import { migrate } from '../../sample-app/database/migrate.js';
import {
  startPaymentProvider,
  type PaymentProvider,
} from '../sample-app/payment-provider-process.js';
import type { Queryable } from '../support/database.js';

/** Rocket Rides' surroundings with a database server of their own, which may crash. */
export interface RestartableWorld {
  database: Queryable & { url: string };
  provider: PaymentProvider;
  /**
   * Stops the server as a crash does, without a checkpoint, and starts it again.
   * `down` resolves when its connections are cut, `up` when it answers again.
   */
  crash(): { down: Promise<void>; up: Promise<void> };
  close(): Promise<void>;
}

export async function createRestartableWorld(): Promise<RestartableWorld> {
  // Never the server of DATABASE_URL: that one is not ours to restart.
  const [server, provider] = await Promise.all([
    startEmbeddedPostgres({ durable: false }),
    startPaymentProvider(),
  ]);
  await migrate(server.url);
  const pool = new Pool({ connectionString: server.url, allowExitOnIdle: true });
  pool.on('error', () => undefined); // it notices the crashes too

  return {
    database: {
      url: server.url,
      async query<Row>(sql: string, parameters: unknown[] = []) {
        return (await pool.query(sql, parameters)).rows as Row[];
      },
    },
    provider,
    crash() {
      const witness = new Client({ connectionString: server.url });
      witness.on('error', () => undefined);
      const connected = witness.connect();
      return {
        down: connected.then(() => new Promise<void>((ended) => witness.once('end', ended))),
        up: connected.then(() => server.restart()),
      };
    },
    async close() {
      await pool.end();
      await provider.close();
      await server.stop();
    },
  };
}
