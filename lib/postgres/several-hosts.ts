import type { Socket } from 'node:net';
import pg, { type Client, type ClientConfig } from 'pg';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { parseDuration, type Duration } from '../policy/duration.js';
import { databaseWords } from './database-words.js';
import { parseHosts, type Host } from './host-list.js';
import { serverState, type ServerState } from './server-queries.js';
import { Timelines } from './timelines.js';

export interface SeveralHostsOptions {
  /**
   * How long a host may take to answer. Raise it if your servers are far away;
   * keep it below `storeTimeout`, or requests are refused while a dead host is
   * waited for.
   * @default '2s'
   */
  connectTimeout?: Duration;
}

/** For the options of a TypeORM data source, or of pg's pool with `connectionString: url`. */
export interface SeveralHosts {
  url: string;
  /** A subclass of pg's `Client`. Its type is not named, because not everybody has the types of pg. */
  extra: { Client: new (config?: any) => any };
}

/**
 * Connects to the one of several hosts that accepts writes: the primary, also
 * after another server was promoted. node-postgres knows one host only.
 *
 * @param url as libpq writes it:
 *   `postgres://user:password@db1:5432,db2:5432/name?target_session_attrs=read-write`
 */
export function severalHosts(url: string, options: SeveralHostsOptions = {}): SeveralHosts {
  const { connectTimeout = '2s' } = options;
  const timeout = parseDuration(connectTimeout);
  if (!timeout) {
    throw new IdempotencyConfigurationError(
      `severalHosts: connectTimeout is ${JSON.stringify(connectTimeout)}. Use a time such as '2s'.`,
    );
  }
  const { hosts, single } = parseHosts(url);
  return { url: single, extra: { Client: clientFor(new PrimarySearch(hosts, timeout)) } };
}

/** What pg reads when it connects, although its types say that it is read-only. */
type Addressed = { host: string; port: number };

/** A client that finds out where to connect just before it does. */
function clientFor(search: PrimarySearch): SeveralHosts['extra']['Client'] {
  return class SeveralHostsClient extends pg.Client {
    /** For the fence of the pool. */
    static readonly timelines = search.timelines;
    private readonly config: ClientConfig;

    constructor(config?: string | ClientConfig) {
      super(config);
      this.config = typeof config === 'string' ? { connectionString: config } : (config ?? {});
    }

    // The versions of pg's types differ in what it resolves with.
    override connect(callback?: (...parameters: any[]) => void): Promise<any> & void {
      const connected = callback ? void this.connectFor(callback) : this.connectFound();
      return connected as Promise<any> & void;
    }

    private async connectFound(): Promise<unknown> {
      await this.find();
      return super.connect();
    }

    /**
     * The callback is handed on, and not called after a promise: a pool listens for errors of the
     * connection from its callback on. One that came in between would end the process.
     */
    private async connectFor(callback: (...parameters: any[]) => void): Promise<void> {
      try {
        await this.find();
      } catch (error) {
        process.nextTick(callback, error);
        return;
      }
      super.connect(callback);
    }

    private async find(): Promise<void> {
      Object.assign(this as Addressed, await search.find(this.config));
    }
  };
}

/** What a host has answered. */
type Answered = { host: Host } & ({ state: ServerState } | { failure: string });

/** Finds the primary among the hosts. */
class PrimarySearch {
  readonly timelines = new Timelines();
  /** The last one that was found. */
  private known: Host | undefined;
  private running: Promise<Host> | undefined;

  constructor(
    private readonly hosts: readonly Host[],
    private readonly timeout: number,
  ) {}

  /** Connections that are opened at the same time share one search. */
  find(config: ClientConfig): Promise<Host> {
    this.running ??= this.search(config).finally(() => (this.running = undefined));
    return this.running;
  }

  /**
   * Every host is asked each time, so that a promotion becomes known even while
   * the old primary still answers. Only if the known primary does not accept
   * writes are the others waited for.
   */
  private async search(config: ClientConfig): Promise<Host> {
    const answers = this.hosts.map((host) => this.ask(host, config));
    const known = await answers[this.hosts.indexOf(this.known!)];
    if (known && this.isPrimary(known)) return known.host;
    const all = await Promise.all(answers);
    this.known = all.find((answer) => this.isPrimary(answer))?.host;
    if (this.known) return this.known;
    const reasons = all.map((answer) => `${nameOf(answer.host)}: ${whyNot(answer)}`).join('; ');
    // Begins like a lost connection, because it passes: a standby will be promoted.
    throw new Error(`Connection terminated: no host accepts writes (${reasons}).`);
  }

  private isPrimary(answer: Answered): boolean {
    return 'state' in answer && !answer.state.readOnly && !this.timelines.isReplaced(answer.state);
  }

  private async ask(host: Host, config: ClientConfig): Promise<Answered> {
    const { password } = config; // not enumerable in the options of a pool
    const client = new pg.Client({ ...config, password, connectionTimeoutMillis: this.timeout });
    Object.assign(client as Addressed, host);
    let broken: Error | undefined;
    client.on('error', (error) => (broken ??= error));
    const timer = setTimeout(() => disconnect(client), this.timeout);
    try {
      await client.connect();
      const state = await serverState(client);
      this.timelines.note(state);
      return { host, state };
    } catch (error) {
      return { host, failure: databaseWords(broken ?? error) };
    } finally {
      clearTimeout(timer);
      client.end().catch(() => undefined);
    }
  }
}

function whyNot(answer: Answered): string {
  if ('failure' in answer) return answer.failure;
  if (answer.state.readOnly) return 'it accepts no writes';
  return `it has timeline ${answer.state.timeline}, and another server was promoted after it`;
}

function nameOf({ host, port }: Host): string {
  return `${host}:${port}`;
}

function disconnect(client: Client): void {
  const { connection } = client as Client & { connection?: { stream?: Socket } };
  connection?.stream?.destroy(new Error('it did not answer in time'));
}
