import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { providePostgres } from '../../sample-app/database/embedded-postgres.mjs';

/**
 * Lends an empty database, on the embedded server or the one of `DATABASE_URL`.
 *
 * @param {(url: string) => Promise<void>} work
 */
export function withFreshDatabase(work) {
  return withFreshDatabases(async (fresh) => work(await fresh()));
}

/**
 * Lends a server, on which each call makes another empty database.
 *
 * @param {(fresh: () => Promise<string>) => Promise<void>} work
 */
export async function withFreshDatabases(work) {
  const server = await providePostgres({ durable: false });
  const client = new Client({ connectionString: server.url });
  /** @type {string[]} */
  const names = [];
  try {
    await client.connect();
    await work(async () => {
      const name = `idempotency_check_${randomBytes(6).toString('hex')}`;
      await client.query(`CREATE DATABASE ${name}`);
      names.push(name);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    });
  } finally {
    for (const name of names) {
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).catch(() => undefined);
    }
    await client.end();
    await server.stop();
  }
}
