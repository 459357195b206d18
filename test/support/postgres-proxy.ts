import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { barrier, type Barrier } from './barrier.js';
import {
  endsReply,
  endsRequest,
  MessageReader,
  preparedNameOf,
  statementOf,
  type Message,
} from './postgres-messages.js';

/** A statement as a client sent it. */
export interface SentStatement {
  sql: string;
  /** Empty, unless the client made a named prepared statement, which is state of the session. */
  name: string;
}

/** A statement or a reply that the proxy keeps until the test releases it. */
export interface Held {
  /** Resolves when the statement has arrived, or when the server has answered it. */
  reached: Promise<void>;
  release(): void;
  /** Resolves when the server has answered. */
  answered: Promise<void>;
  /** Cuts the connection instead: what is held never arrives. */
  cut(): void;
  /** The client loses its connection; what is held still arrives when it is released. */
  loseClient(): void;
}

/** A regular expression, or anything else that tells the statement that is meant. */
export type StatementPattern = Pick<RegExp, 'test'>;

/** The first, second, … statement that fits: what differs by its parameters only is told by its turn. */
export function nth(number: number, pattern: StatementPattern = /^/): StatementPattern {
  let count = 0;
  return { test: (sql) => pattern.test(sql) && ++count === number };
}

interface Rule {
  pattern: StatementPattern;
  at: 'statement' | 'reply';
  gate: Barrier;
  answered: Barrier;
  cut: boolean;
  /** The connection that it has been applied to. */
  link?: Link;
}

/**
 * Stands between an application and PostgreSQL, on the loopback interface, and
 * lets a test do what a network does: lose a reply, cut or refuse a connection,
 * stall. It knows statements, so that a fault hits the one it is meant for.
 */
export class PostgresProxy {
  /** Every statement that clients have sent, in order, whether or not it was let through. */
  readonly statements: SentStatement[] = [];
  /** The same, by the round trips in which they were sent. */
  readonly trips: SentStatement[][] = [];
  /** Where applications connect instead of the server. */
  url = '';

  private readonly links = new Set<Link>();
  private readonly rules: Rule[] = [];
  private readonly gates = new Set<Barrier>();
  private server: Server | undefined;
  private port = 0;

  constructor(private target: URL) {}

  /** Connections are accepted, now or again. */
  async accept(): Promise<void> {
    if (this.server) return;
    const server = createServer((client) => this.link(client));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    this.url = url.href;
  }

  /** The database is down: open connections break, and nobody listens on the port. */
  async refuse(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    const closed = server && once(server, 'close');
    server?.close();
    this.cut();
    await closed;
  }

  /** The address leads to another server from now on, as after a failover; open connections break. */
  leadTo(url: string): void {
    this.target = new URL(url);
    this.cut();
  }

  /** Breaks the connections on which the server has a statement to answer. */
  cutBusy(): void {
    for (const link of this.links) if (link.busy) link.cut();
  }

  /** Breaks all open connections. */
  cut(): void {
    for (const link of this.links) link.cut();
  }

  /**
   * The next matching statement is carried out, and committed if it stands
   * alone, but its reply is lost with the connection. Resolves at that moment.
   */
  loseReply(pattern: StatementPattern): Promise<void> {
    return this.rule(pattern, 'reply', true).gate.arrived();
  }

  /** The next matching statement breaks the connection before it reaches the server. */
  loseStatement(pattern: StatementPattern): Promise<void> {
    return this.rule(pattern, 'statement', true).gate.arrived();
  }

  /** Keeps the next matching statement from the server. */
  holdStatement(pattern: StatementPattern): Held {
    return this.hold(this.rule(pattern, 'statement', false));
  }

  /** Keeps the server's reply to the next matching statement from the client. */
  holdReply(pattern: StatementPattern): Held {
    return this.hold(this.rule(pattern, 'reply', false));
  }

  /** How many statements matched so far. */
  count(pattern: StatementPattern): number {
    return this.statements.filter(({ sql }) => pattern.test(sql)).length;
  }

  async close(): Promise<void> {
    for (const gate of this.gates) gate.open();
    await this.refuse();
  }

  private hold(rule: Rule): Held {
    return {
      reached: rule.gate.arrived(),
      release: () => rule.gate.open(),
      answered: rule.answered.arrived(),
      cut: () => {
        rule.cut = true;
        rule.gate.open();
      },
      loseClient: () => rule.link?.loseClient(),
    };
  }

  private rule(pattern: StatementPattern, at: Rule['at'], cut: boolean): Rule {
    const rule: Rule = { pattern, at, cut, gate: barrier(), answered: barrier() };
    this.rules.push(rule);
    this.gates.add(rule.gate);
    return rule;
  }

  /** A rule is used once, by the first statement that it fits. */
  private take(sql: string): Rule | undefined {
    const index = this.rules.findIndex(({ pattern }) => pattern.test(sql));
    return index < 0 ? undefined : this.rules.splice(index, 1)[0];
  }

  private link(client: Socket): void {
    const { hostname, port } = this.target;
    const link = new Link(client, connect(Number(port || 5432), hostname), (statements) => {
      if (statements.length > 0) this.trips.push(statements);
      this.statements.push(...statements);
      for (const { sql } of statements) {
        const rule = this.take(sql);
        if (rule) return rule;
      }
      return undefined;
    });
    this.links.add(link);
    void link.ended.then(() => this.links.delete(link));
  }
}

/** One client's connection and its counterpart to the server. */
class Link {
  readonly ended: Promise<unknown>;
  private request: Message[] = [];
  private readonly prepared = new Map<string, SentStatement>();
  /** The rules of the requests that the server has not answered yet. */
  private readonly pending: (Rule | undefined)[] = [];
  private reply: Message[] = [];
  private clientLost = false;
  private upstream: Promise<void> = Promise.resolve();
  private downstream: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly see: (statements: SentStatement[]) => Rule | undefined,
  ) {
    const fromClient = new MessageReader(true);
    const fromServer = new MessageReader(false);
    client.on('data', (chunk) => fromClient.read(chunk).forEach((m) => this.up(m)));
    server.on('data', (chunk) => fromServer.read(chunk).forEach((m) => this.down(m)));
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // 'close' follows
      socket.on('close', () => {
        if (socket === this.server || !this.clientLost) this.cut();
      });
    }
    this.ended = Promise.all(
      [client, server].map((s) => new Promise((done) => s.once('close', done))),
    );
  }

  /** The server has not noticed yet. */
  loseClient(): void {
    this.clientLost = true;
    this.client.resetAndDestroy();
  }

  get busy(): boolean {
    return this.pending.length > 0;
  }

  cut(): void {
    // Reset rather than end: a network fault does not say goodbye.
    this.client.resetAndDestroy();
    this.server.destroy();
  }

  private up(message: Message): void {
    this.request.push(message);
    if (!endsRequest(message)) return;
    const request = this.request.splice(0);
    const statements = this.statementsIn(request);
    const rule = this.see(statements);
    this.upstream = this.upstream.then(async () => {
      if (rule?.at === 'statement' && !(await this.passes(rule))) return;
      if (message.type === 'Q' || message.type === 'S') this.pending.push(rule);
      this.server.write(Buffer.concat(request.map(({ bytes }) => bytes)));
    });
  }

  /** Several where a client does not wait for the reply to one before it sends the next. */
  private statementsIn(request: readonly Message[]): SentStatement[] {
    const executed: SentStatement[] = [];
    for (const message of request) {
      const statement = statementOf(message);
      if (statement) this.prepared.set(statement.name, statement);
      const name = message.type === 'Q' ? '' : preparedNameOf(message);
      const found = name === undefined ? undefined : this.prepared.get(name);
      if (found) executed.push(found);
    }
    return executed;
  }

  private down(message: Message): void {
    const rule = this.pending[0];
    this.reply.push(message);
    // Only a reply with a rule has to be seen whole before any of it leaves.
    if (rule?.at === 'reply' && !endsReply(message)) return;
    if (endsReply(message)) void this.pending.shift()?.answered.pass();
    const reply = this.reply.splice(0);
    this.downstream = this.downstream.then(async () => {
      if (rule?.at === 'reply' && !(await this.passes(rule))) return;
      this.client.write(Buffer.concat(reply.map(({ bytes }) => bytes)));
    });
  }

  private async passes(rule: Rule): Promise<boolean> {
    rule.link = this;
    const opened = rule.gate.pass();
    if (!rule.cut) await opened;
    if (rule.cut) this.cut();
    return !rule.cut;
  }
}

/** A proxy in front of the server of this URL. Close it after the application. */
export async function startPostgresProxy(url: string): Promise<PostgresProxy> {
  const proxy = new PostgresProxy(new URL(url));
  await proxy.accept();
  return proxy;
}
