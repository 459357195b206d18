import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { providePostgres } from '../../sample-app/database/embedded-postgres.mjs';

/**
 * Lends an empty database, on the embedded server or the one of `DATABASE_URL`.
 *
 * @param {(url: string) => Promise<void>} work
 */
export async function withFreshDatabase(work) {
  const server = await providePostgres({ durable: false });
  const client = new Client({ connectionString: server.url });
  const name = `idempotency_check_${randomBytes(6).toString('hex')}`;
  try {
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    await work(url.href);
  } finally {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).catch(() => undefined);
    await client.end();
    await server.stop();
  }
}
