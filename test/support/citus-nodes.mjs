// A Citus cluster as the server of the tests (DATABASE_URL names its coordinator): each database
// is on every node, under the same name, with the library's tables distributed over the workers.
import { Client } from 'pg';

/** Few, so that a database is copied quickly, and still several for each worker. */
const SHARDS = 4;

/**
 * The addresses of all nodes, the coordinator first; none if the server has no Citus.
 *
 * @param {Client} session on the coordinator
 * @param {string} url of the coordinator
 * @returns {Promise<string[]>}
 */
export async function nodesOf(session, url) {
  const { rows: found } = await session.query(
    `SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL AS citus`,
  );
  if (!found[0].citus) return [];
  const { rows } = await session.query(
    `SELECT nodename AS host, nodeport AS port FROM pg_dist_node
     WHERE groupid <> 0 AND noderole = 'primary' ORDER BY nodeid`,
  );
  return [
    url,
    ...rows.map(({ host, port }) => Object.assign(new URL(url), { hostname: host, port }).href),
  ];
}

/**
 * Makes the databases of this name on all nodes one cluster.
 *
 * @param {string[]} nodes their addresses, with the name of the database
 */
export async function joinNodes(nodes) {
  for (const node of nodes) await run(node, 'CREATE EXTENSION citus');
  const [first, ...others] = nodes;
  const coordinator = new URL(/** @type {string} */ (first));
  const workers = others.map((node) => new URL(node));
  await run(
    coordinator.href,
    `SELECT citus_set_coordinator_host('${coordinator.hostname}', ${coordinator.port || 5432})`,
    ...workers.map(({ hostname, port }) => `SELECT citus_add_node('${hostname}', ${port || 5432})`),
    `ALTER DATABASE ${coordinator.pathname.slice(1)} SET citus.shard_count = ${SHARDS}`,
  );
}

/**
 * A database can be copied only while nobody is connected to it, and Citus itself is.
 *
 * @param {string[]} servers
 * @param {string} name
 */
export async function closeToAll(servers, name) {
  for (const server of servers) {
    await run(
      server,
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
  }
}

/**
 * @param {string} url
 * @param {string[]} statements
 */
export async function run(url, ...statements) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
