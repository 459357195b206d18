// The suite's core on other versions of PostgreSQL, Node and Nest, and behind PgBouncer: one cell
// after another, at low priority. Prints a row of docs/reference/versions.md for each.
//
//   npm run test:matrix                                   all cells
//   npm run test:matrix -- --postgres 13,14 --node 22     every combination of these
//   npm run test:matrix -- --pgbouncer --only test/keys   some folders or files alone
//   npm run test:matrix -- --everything                   the whole suite in each cell
//   npm run test:matrix -- --workers 2                    on a machine that is needed for something else
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../sample-app/database/embedded-postgres.mjs';
import { chosenCells, commandOf, CORE, NODE, PEERS, POSTGRES } from './matrix/cells.mjs';
import { withPeers } from './matrix/peers.mjs';
import { hasPgBouncer, startPgBouncer } from './matrix/pgbouncer.mjs';
import { installNode, installPostgres } from './matrix/programs.mjs';
import { ROOT } from './run.mjs';

const { values } = parseArgs({
  options: {
    postgres: { type: 'string' },
    node: { type: 'string' },
    peers: { type: 'string' },
    pgbouncer: { type: 'boolean' },
    only: { type: 'string' },
    everything: { type: 'boolean' },
    workers: { type: 'string' },
  },
});
const list = (/** @type {string | undefined} */ text) => text?.split(',');
const cells = chosenCells({
  ...(values.postgres && { postgres: list(values.postgres) }),
  ...(values.node && { node: list(values.node) }),
  ...(values.peers && { peers: list(values.peers) }),
  ...(values.pgbouncer && { pgbouncer: true }),
});
const tests = values.everything ? [] : (list(values.only) ?? CORE);
const selection = values.everything ? ' --everything' : values.only ? ` --only ${values.only}` : '';

/** At low priority a test may be slow for no reason of its own. */
const PATIENCE = ['--testTimeout=240000'];
const WORKERS = values.workers ? [`--maxWorkers=${values.workers}`] : [];

setPriority(10);
let failed = 0;
for (const cell of cells) {
  if (cell.pgbouncer && !hasPgBouncer) {
    console.log(`SKIPPED ${commandOf(cell)}: PgBouncer is not installed (Debian: pgbouncer).`);
    continue;
  }
  const { passed, row } = await runCell(cell);
  if (!passed) failed += 1;
  console.log(row);
}
if (failed > 0) {
  console.error(`${failed} of ${cells.length} cells failed.`);
  process.exitCode = 1;
}

/** @param {import('./matrix/cells.mjs').Cell} cell */
async function runCell(cell) {
  const node = await installNode(NODE[cell.node]);
  process.env.EMBEDDED_POSTGRES = await installPostgres(POSTGRES[cell.postgres]);
  const cwd = cell.peers ? await withPeers(cell.peers, PEERS[cell.peers]) : ROOT;
  const folder = await mkdtemp(join(tmpdir(), 'idempotency-matrix-'));
  const results = join(folder, 'results.json');
  const proxied = cell.pgbouncer ? await startProxiedServer() : undefined;
  try {
    const code = await jest(
      node,
      [...tests, ...PATIENCE, ...WORKERS, '--json', `--outputFile=${results}`],
      {
        cwd,
        env: { ...process.env, ...proxied?.env, NO_COLOR: '1' },
      },
    );
    const written = await readFile(results, 'utf8').catch(() => undefined);
    if (written === undefined) return { passed: false, row: `FAILED ${commandOf(cell)}` };
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(written);
    const { postgres, peers } = cell;
    const columns = [
      `${POSTGRES[postgres].replace(/\.0-.*$/, '')}${cell.pgbouncer ? ' behind PgBouncer' : ''}`,
      NODE[cell.node],
      peers ?? 'those of package.json',
      `${numPassedTests} passed, ${numPendingTests} skipped, ${numFailedTests} failed`,
      `\`${commandOf(cell)}${selection}\``,
    ];
    return { passed: code === 0, row: `| ${columns.join(' | ')} |` };
  } finally {
    await proxied?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Databases are made on the server itself, and used through the proxy. */
async function startProxiedServer() {
  const server = await startEmbeddedPostgres({ durable: false, maxConnections: 600 });
  const proxy = await startPgBouncer(server.url);
  return {
    env: { DATABASE_URL: server.url, DATABASE_PROXY_URL: proxy.url },
    async stop() {
      await proxy.stop();
      await server.stop();
    },
  };
}

/**
 * @param {string} node
 * @param {string[]} parameters
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number | null>} its exit code
 */
function jest(node, parameters, options) {
  const child = spawn(node, [join('node_modules', 'jest', 'bin', 'jest.js'), ...parameters], {
    ...options,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}
