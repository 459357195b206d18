import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { closeToAll, joinNodes, nodesOf, run as runOn } from './citus-nodes.mjs';

const OURS = 'idempotency_test_';

/**
 * Applies the library's migrations once, to a template that every test file
 * clones: a copy takes a fraction of the time that the migrations take.
 *
 * @param {string} serverUrl
 * @param {string} run
 * @param {string} build
 */
export async function prepareDatabases(serverUrl, run, build) {
  const prefix = `${OURS}${run}`;
  const template = `${prefix}_template`;
  // Kept open during the whole run and named after it: as long as it lives, no
  // other run on the same server takes these databases for leftovers.
  const session = new Client({ connectionString: serverUrl, application_name: prefix });
  session.on('error', () => undefined); // a server that is gone has nothing left to drop
  await session.connect();
  const nodes = await nodesOf(session, serverUrl);
  const servers = nodes.length > 0 ? nodes : [serverUrl];
  await dropLeftovers(session, servers);
  for (const server of servers) await runOn(server, `CREATE DATABASE ${template}`);
  if (nodes.length > 0) await joinNodes(nodes.map((node) => databaseUrl(node, template)));
  await migrate(databaseUrl(serverUrl, template), build, nodes.length > 0);
  if (nodes.length > 0) await closeToAll(nodes, template);

  return {
    prefix,
    template,
    servers,
    copy: await cheapestCopy(session),
    async drop() {
      await dropDatabases(servers, (name) => name.startsWith(`${prefix}_`));
      await session.end();
    },
  };
}

/**
 * Through the log, which is the default from version 15 on, a copy takes several times
 * the processor time of one by files; by files, it flushes everything to the disk, which
 * costs nothing only if nothing is flushed.
 *
 * @param {Client} session
 */
async function cheapestCopy(session) {
  const { rows } = await session.query(
    `SELECT current_setting('server_version_num')::int >= 150000
        AND current_setting('fsync') = 'off' AS by_files`,
  );
  return rows[0].by_files ? 'STRATEGY file_copy' : '';
}

/**
 * @param {string} url
 * @param {string} build
 * @param {boolean} onCitus
 */
async function migrate(url, build, onCitus) {
  const { distributeOnCitus, idempotencyMigrations } = await import(
    pathToFileURL(join(build, 'migrations', 'index.js')).href
  );
  const migrations = [...idempotencyMigrations, ...(onCitus ? [distributeOnCitus()] : [])];
  const dataSource = new DataSource({ type: 'postgres', url, migrations });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}

/**
 * Databases of runs that were killed, on a server that outlives them (DATABASE_URL).
 * @param {Client} session
 * @param {string[]} servers
 */
async function dropLeftovers(session, servers) {
  const { rows } = await session.query(
    'SELECT application_name AS prefix FROM pg_stat_activity WHERE starts_with(application_name, $1)',
    [OURS],
  );
  /** @type {string[]} */
  const living = rows.map(({ prefix }) => `${prefix}_`);
  await dropDatabases(servers, (name) => !living.some((prefix) => name.startsWith(prefix)));
}

/**
 * @param {string[]} servers
 * @param {(name: string) => boolean} chosen
 */
async function dropDatabases(servers, chosen) {
  for (const server of servers) {
    const session = new Client({ connectionString: server });
    await session.connect();
    const { rows } = await session.query(
      'SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)',
      [OURS],
    );
    for (const { name } of rows) {
      if (chosen(name)) await session.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
    await session.end();
  }
}

/**
 * @param {string} serverUrl
 * @param {string} database
 */
function databaseUrl(serverUrl, database) {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}
