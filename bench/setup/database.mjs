import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { familyCpu, parentOf } from './family-cpu.mjs';
import { slowDown } from './slow-disk.mjs';
import { providePostgres } from '../../sample-app/database/embedded-postgres.mjs';

/** A PostgreSQL with fsync on, in which each server under test has a database of its own. */
export class Database {
  /** @type {string[]} */
  #created = [];
  /** @type {Promise<unknown>} */
  #turn = Promise.resolve();
  #prefix = `bench_${randomBytes(3).toString('hex')}`;

  /**
   * @param {import('../../sample-app/database/embedded-postgres.mjs').PostgresServer} server
   * @param {pg.Client} client
   * @param {string} version
   * @param {string} disk how it flushes
   */
  constructor(server, client, version, disk) {
    this.server = server;
    this.client = client;
    this.version = version;
    this.disk = disk;
  }

  static async start() {
    const server = await providePostgres({ durable: true, maxConnections: 200 });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query(
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS "synchronousCommit"`,
    );
    const { version, fsync, synchronousCommit } = rows[0];
    if (fsync !== 'on' || synchronousCommit === 'off') {
      throw new Error(
        'The bench needs a PostgreSQL that flushes: fsync and synchronous_commit on.',
      );
    }
    return new Database(server, client, version, await slowDown(client));
  }

  /** @returns {Promise<string>} the URL of a new, empty database */
  async create() {
    const database = `${this.#prefix}_${this.#created.length + 1}`;
    this.#created.push(database);
    // Servers start side by side, but one connection does one thing at a time.
    const turn = this.#turn;
    this.#turn = turn.then(() => this.client.query(`CREATE DATABASE ${database}`));
    await this.#turn;
    const url = new URL(this.server.url);
    url.pathname = `/${database}`;
    return url.href;
  }

  /**
   * Has PostgreSQL keep statistics of each statement, which costs a little and so
   * is for profiles only. False where it is not ours to restart.
   */
  async observe() {
    if (process.env.DATABASE_URL) return false;
    await this.client.query(`ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`);
    await this.client.query(`ALTER SYSTEM SET pg_stat_statements.track_planning = 'on'`);
    await this.client.end();
    await this.server.restart();
    this.client = new pg.Client({ connectionString: this.server.url });
    await this.client.connect();
    await this.client.query('CREATE EXTENSION pg_stat_statements');
    return true;
  }

  async forgetObserved() {
    await this.client.query('SELECT pg_stat_statements_reset()');
  }

  /** @returns {Promise<string[][]>} the statements that took most time, each with its means */
  async observed() {
    const { rows } = await this.client.query({
      text: `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 70), calls, round(rows::numeric / calls, 1),
                    round((total_plan_time / calls)::numeric, 3), round(mean_exec_time::numeric, 3), round(wal_bytes / calls)
             FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
             WHERE d.datname = ANY($1)
             ORDER BY total_plan_time + total_exec_time DESC
             LIMIT 10`,
      values: [this.#created],
      rowMode: 'array',
    });
    return rows.map((row) => row.map(String));
  }

  /**
   * Has PostgreSQL look at all tables, as it does by itself within a minute or two: until then it
   * takes every table for an empty one.
   */
  async analyze() {
    for (const database of this.#created) {
      await this.#inDatabase(database, (client) => client.query('ANALYZE'));
    }
  }

  /**
   * @template T
   * @param {string} database
   * @param {(client: pg.Client) => Promise<T>} work
   */
  async #inDatabase(database, work) {
    const url = new URL(this.server.url);
    url.pathname = `/${database}`;
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /**
   * Of the updates of keys in the newest database, the share that did not touch an index.
   *
   * @returns {Promise<number>}
   */
  async heapOnlyUpdates() {
    const { rows } = await this.#inDatabase(this.#created.at(-1) ?? '', (client) =>
      client.query(
        `SELECT n_tup_hot_upd::float8 / n_tup_upd AS share
         FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'`,
      ),
    );
    return rows[0].share;
  }

  /** What the whole server has used of the processors, in milliseconds; NaN where it is not on this machine. */
  async cpu() {
    if (process.env.DATABASE_URL) return NaN;
    const { rows } = await this.client.query('SELECT pg_backend_pid() AS pid');
    const server = parentOf(rows[0].pid);
    return server === undefined ? NaN : familyCpu(server);
  }

  /** How much log the whole server has written, in bytes. */
  async writtenLog() {
    const { rows } = await this.client.query(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
    );
    return rows[0].bytes;
  }

  /** Committed transactions as PostgreSQL counts them; exact once the servers have gone. */
  async committed() {
    await this.#deserted();
    const { rows } = await this.client.query(
      'SELECT coalesce(sum(xact_commit), 0)::float8 AS n FROM pg_stat_database WHERE datname = ANY($1)',
      [this.#created],
    );
    return rows[0].n;
  }

  /** A session adds its count when it ends, a moment after its server has gone. */
  async #deserted() {
    const patience = performance.now() + 3_000;
    while (performance.now() < patience) {
      const { rowCount } = await this.client.query(
        'SELECT FROM pg_stat_activity WHERE datname = ANY($1)',
        [this.#created],
      );
      if (rowCount === 0) return;
      await delay(50);
    }
  }

  /** Drops what was created; an embedded server simply goes. */
  async stop() {
    for (const database of process.env.DATABASE_URL ? this.#created : []) {
      await this.client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    }
    await this.client.end();
    await this.server.stop();
  }
}
