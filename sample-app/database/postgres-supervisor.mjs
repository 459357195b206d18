// Runs one embedded PostgreSQL for the process that forked it, and outlives that
// process by just the moment it takes to stop the server.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from './is-alive.mjs';
import { PostgresCluster } from './postgres-cluster.mjs';

const TEMPORARY = 'idempotency-postgres-';
/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** What the log, which takes a gigabyte at most, and many small databases need. */
const ENOUGH_MEMORY = 4 * 1024 ** 3;

/** @type {import('./embedded-postgres.mjs').PostgresOptions} */
const { folder: kept, durable = true, maxConnections = 100 } = JSON.parse(process.argv[2] ?? '{}');
const temporary = durable ? tmpdir() : await inMemory();
const folder =
  kept ?? join(temporary, `${TEMPORARY}${process.pid}-${randomBytes(4).toString('hex')}`);
const cluster = new PostgresCluster({ folder, durable, maxConnections });
let stopping = false;

process.once('disconnect', () => void stop());
process.on('message', (message) => {
  if (message === 'stop') void stop();
  if (message === 'restart immediate') void restart('SIGQUIT').catch(fail);
  if (message === 'restart fast') void restart('SIGINT').catch(fail);
});
// embedded-postgres does not listen for a binary that cannot be executed, so
// that error arrives here.
process.once('uncaughtException', (error) => void fail(error));

start().catch(fail);

async function start() {
  if (!kept) await removeAbandonedFolders();
  // Not mkdtemp: its 0700 shuts out the postgres user that stands in for root.
  await mkdir(folder, { recursive: true, mode: 0o711 });
  report({ kind: 'started', url: await cluster.start() });
}

/** @param {'SIGQUIT' | 'SIGINT'} signal PostgreSQL's immediate or its fast shutdown */
async function restart(signal) {
  await cluster.restart(signal);
  report({ kind: 'restarted' });
}

async function stop() {
  if (stopping) return;
  stopping = true;
  await cluster.stop();
  if (!kept) await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

/** @param {unknown} cause */
async function fail(cause) {
  const reason = cause instanceof Error ? cause.message : 'the server ended while starting';
  report({ kind: 'failed', reason: explain(reason) });
  await stop();
}

/** @param {string} reason */
function explain(reason) {
  const lines = [
    `The embedded PostgreSQL could not be started: ${reason}`,
    ...cluster.lastLines.map((line) => `  ${line}`),
  ];
  if (cluster.asRoot) {
    lines.push(
      'You are root, so PostgreSQL runs as the user "postgres". That user must be able to enter the',
      `folders of the installed packages and ${folder};`,
      'a checkout below a private home folder (mode 0700) does not allow it.',
    );
  }
  if (kept) lines.push(`Another copy may still be running on ${folder}.`);
  lines.push(
    'Cure: set DATABASE_URL to a PostgreSQL server whose user may create databases,',
    'move the checkout, or run as a normal user.',
  );
  return lines.join('\n');
}

/**
 * Where data goes that need not outlive a power cut: each new database is 300 files, and
 * in memory these cost a fraction of what a disk's file system takes for them.
 */
async function inMemory() {
  const memory = await statfs(MEMORY).catch(() => undefined);
  return memory && memory.bavail * memory.bsize >= ENOUGH_MEMORY ? MEMORY : tmpdir();
}

/**
 * A supervisor that was itself killed could not clean up. Its server ends by
 * itself within a minute of losing its lock file, so removing is enough.
 */
async function removeAbandonedFolders() {
  for (const name of await readdir(temporary)) {
    if (!name.startsWith(TEMPORARY)) continue;
    if (isAlive(Number.parseInt(name.slice(TEMPORARY.length), 10))) continue;
    // Somebody else's leftovers are theirs to remove.
    await rm(join(temporary, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** @param {object} message */
function report(message) {
  if (process.connected) process.send?.(message);
}
