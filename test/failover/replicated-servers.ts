import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { startEmbeddedPostgres } from '../../sample-app/database/embedded-postgres.mjs';
import { isAlive } from '../../sample-app/database/is-alive.mjs';
import { idempotencyMigrations } from '../../migrations/index.js';
import type { TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

const run = promisify(execFile);

/** One PostgreSQL server of a pair. */
export interface ReplicatedServer extends TestDatabase {
  /** SIGKILL, as when the power of its machine fails. */
  kill(): Promise<void>;
  /** Starts it again after a kill, on its port: as the primary that it was. */
  comeBack(): Promise<void>;
}

/** A primary and its standby, with streaming replication between them. */
export interface ServerPair {
  primary: ReplicatedServer;
  standby: ReplicatedServer;
  /** From now on a commit waits for the standby, or does not wait any more. */
  synchronous(on: boolean): Promise<void>;
  /** Stops the primary from sending its log. The returned function lets it go on. */
  holdReplication(): Promise<() => void>;
  /** Makes the standby a primary. */
  promote(): Promise<void>;
  close(): Promise<void>;
}

/** The data of a server with the library's tables, of which pairs are made. */
export interface ServerTemplate {
  startPair(): Promise<ServerPair>;
  remove(): Promise<void>;
}

/** The package `embedded-postgres` has no pg_basebackup; a copy of a server that is down does as well. */
export async function createTemplate(prepare: string[]): Promise<ServerTemplate> {
  const folder = await newFolder();
  const server = await startEmbeddedPostgres({ folder, durable: false });
  const dataSource = new DataSource({
    type: 'postgres',
    url: server.url,
    migrations: [...idempotencyMigrations],
  });
  await dataSource.initialize();
  await dataSource.runMigrations();
  for (const statement of prepare) await dataSource.query(statement);
  await dataSource.destroy();
  await server.stop();
  return {
    startPair: () => startPair(folder),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function startPair(template: string): Promise<ServerPair> {
  const [primary, standby] = await Promise.all([copyOf(template), copyOf(template)]);
  await primary.start();
  const { port, username, password } = new URL(primary.url);
  await appendFile(
    join(standby.folder, 'data', 'postgresql.auto.conf'),
    `\nprimary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'\n`,
  );
  await writeFile(join(standby.folder, 'data', 'standby.signal'), '');
  await standby.start();
  const sender = () =>
    until(async () => {
      const [row] = await primary.query<{ pid: number; sync_state: string }>(
        `SELECT pid, sync_state FROM pg_stat_replication WHERE state = 'streaming'`,
      );
      return row;
    }, 'the standby to connect');
  await sender();

  return {
    primary,
    standby,
    async synchronous(on) {
      await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '${on ? '*' : ''}'`);
      await primary.query('SELECT pg_reload_conf()');
      const state = on ? 'sync' : 'async';
      await until(async () => (await sender()).sync_state === state, `the standby to be ${state}`);
    },
    async holdReplication() {
      const { pid } = await sender();
      process.kill(pid, 'SIGSTOP');
      primary.held = pid;
      return () => {
        primary.held = undefined;
        process.kill(pid, 'SIGCONT');
      };
    },
    async promote() {
      await standby.query('SELECT pg_promote()');
    },
    async close() {
      await Promise.all([primary.remove(), standby.remove()]);
    },
  };
}

async function copyOf(template: string) {
  const folder = await newFolder();
  // Node's own copy does not keep the owner, who is another user if this process is root.
  await run('cp', ['-a', join(template, 'data'), join(template, 'password'), folder]);
  const postmaster = async () =>
    Number.parseInt(await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10);
  let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
  let pool: Pool;

  return {
    name: 'postgres',
    url: '',
    folder,
    /** A process of this server that is stopped, and would outlive it. */
    held: undefined as number | undefined,
    get dataSourceOptions() {
      return { type: 'postgres' as const, url: this.url };
    },
    get pool() {
      return pool;
    },
    async start() {
      server = await startEmbeddedPostgres({ folder, durable: false });
      this.url = server.url;
      pool = new Pool({ connectionString: server.url, max: 3, allowExitOnIdle: true });
      pool.on('error', () => undefined);
    },
    async query<Row>(sql: string, parameters: unknown[] = []) {
      return (await pool.query(sql, parameters)).rows as Row[];
    },
    async kill() {
      const witness = new Client({ connectionString: this.url });
      witness.on('error', () => undefined);
      await witness.connect();
      const cut = new Promise((ended) => witness.once('end', ended));
      const pid = await postmaster();
      process.kill(pid, 'SIGKILL');
      if (this.held !== undefined) process.kill(this.held, 'SIGKILL');
      this.held = undefined;
      await cut;
      await until(() => !isAlive(pid), 'the server to be gone');
    },
    comeBack: () => server.restart(),
    drop: async () => undefined,
    async remove() {
      if (this.held !== undefined) process.kill(this.held, 'SIGCONT');
      await pool.end();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** In memory where there is one: a server is a thousand files. Other users may enter, as PostgreSQL's must. */
async function newFolder(): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => undefined);
  const enough = memory && memory.bavail * memory.bsize > 1024 ** 3;
  const folder = await mkdtemp(join(enough ? '/dev/shm' : tmpdir(), 'idempotency-failover-'));
  await chmod(folder, 0o711);
  return folder;
}
