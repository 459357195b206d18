import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientBase } from 'pg';
import type { DataSource } from 'typeorm';
import type { Attempt } from '../../keys/attempt.js';
import { requestContext, type RequestContext } from '../../phases/request-context.js';
import { describeWrite, isWrite } from '../../phases/sql-writes.js';
import { here, type Place } from '../verdict/user-line.js';
import { whereIs, type Where } from './place.js';

/** A statement of the user's code in an idempotent request, in this process. */
export interface Statement {
  text: string;
  /** As messages name it: `INSERT INTO "orders"`. */
  what: string;
  write: boolean;
  where: Where;
  /** In a phase, but not through its `tx`. */
  past: boolean;
  phase: string | undefined;
  attempt: Attempt | undefined;
  /** The server process of its connection. */
  pid: number | undefined;
  place: Place;
}

/** What may happen to statements: whatever is thrown, the statement fails with. */
export interface StatementObserver {
  beforeStatement(statement: Statement): void;
  afterStatement(statement: Statement): void;
  /** The library sends a statement on the same connection, although this one has not ended. */
  overtaken(statement: Statement): void;
}

type Query = (this: ClientBase, ...args: unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

/** They begin and end transactions, and are no place of their own to die at. */
const FRAME = /^\s*(?:START|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|END|ABORT)\b/i;

/**
 * Sees every statement that the driver sends for code of an idempotent request,
 * whichever pool or connection it uses.
 *
 * @returns what ends it
 */
export function watchStatements(
  dataSources: readonly DataSource[],
  observer: StatementObserver,
): () => void {
  const undo = [
    ...[...prototypesOf(dataSources, 'Client')].map((prototype) => hook(prototype, observer)),
    ...[...prototypesOf(dataSources, 'Pool')].map((prototype) => hookPool(prototype)),
  ];
  return () => {
    for (const each of undo) each();
  };
}

/** Of the driver that TypeORM has loaded: the same module as the application's own `import pg`. */
function prototypesOf(
  dataSources: readonly DataSource[],
  name: 'Client' | 'Pool',
): Set<{ query: Query }> {
  const found = new Set<{ query: Query }>();
  for (const { driver } of dataSources) {
    const { postgres } = driver as {
      postgres?: Partial<Record<typeof name, { prototype: { query: Query } }>>;
    };
    if (postgres?.[name]) found.add(postgres[name].prototype);
  }
  return found;
}

/** Where a pool was asked: it sends the statement later, from a callback of its own. */
const asked = new AsyncLocalStorage<Place>();

function hookPool(prototype: { query: Query }): () => void {
  const own = Object.getOwnPropertyDescriptor(prototype, 'query');
  const original = prototype.query;
  const hooked: Query = function (...args) {
    if (!requestContext.current) return original.apply(this, args);
    return asked.run(here(), () => original.apply(this, args));
  };
  prototype.query = hooked;
  return () => {
    if (prototype.query !== hooked) return;
    // The class of pg inherits the method from that of pg-pool.
    if (own) Object.defineProperty(prototype, 'query', own);
    else Reflect.deleteProperty(prototype, 'query');
  };
}

function hook(prototype: { query: Query }, observer: StatementObserver): () => void {
  const original = prototype.query;
  const hooked: Query = function (...args) {
    const context = requestContext.current;
    const statement = context && describe(context, this, args);
    if (context && whereIs(context) === 'library') {
      for (const earlier of underWay.get(this) ?? []) observer.overtaken(earlier);
    }
    return statement ? send(this, original, args, statement, observer) : original.apply(this, args);
  };
  prototype.query = hooked;
  return () => {
    if (prototype.query === hooked) prototype.query = original;
  };
}

/** Statements of the user's on each connection that have not ended. */
const underWay = new WeakMap<ClientBase, Set<Statement>>();

function describe(
  context: RequestContext,
  client: ClientBase,
  [query]: unknown[],
): Statement | undefined {
  const where = whereIs(context);
  const text = typeof query === 'string' ? query : (query as { text?: string } | undefined)?.text;
  if (where === 'library' || text === undefined) return undefined;
  const write = isWrite(text);
  const { phase, attempt } = context;
  const connection = (phase?.queryRunner as { databaseConnection?: unknown } | undefined)
    ?.databaseConnection;
  return {
    text,
    what: write ? describeWrite(text) : shortened(text),
    write,
    where,
    past: phase?.queryRunner !== undefined && connection !== client,
    phase: phase?.name,
    attempt,
    pid: (client as { processID?: number }).processID,
    place: asked.getStore() ?? here(),
  };
}

function send(
  client: ClientBase,
  original: Query,
  args: unknown[],
  statement: Statement,
  observer: StatementObserver,
): unknown {
  const last = args.at(-1);
  const callback = typeof last === 'function' ? (last as Callback) : undefined;
  // A cursor or a stream has a course of its own; it is seen, and not stopped.
  const submittable = typeof (args[0] as { submit?: unknown } | null)?.submit === 'function';
  try {
    observer.beforeStatement(statement);
  } catch (error) {
    if (!callback) return Promise.reject(error as Error);
    process.nextTick(callback, error);
    return undefined;
  }
  if (submittable) return original.apply(client, args);
  const others = underWay.get(client) ?? new Set();
  underWay.set(client, others.add(statement));
  if (callback) {
    const told: Callback = (error, result) => {
      others.delete(statement);
      const ended = error ? { error } : tellEnd(observer, statement);
      callback(ended?.error, result);
    };
    return original.apply(client, [...args.slice(0, -1), told]);
  }
  const running = original.apply(client, args) as Promise<unknown> | undefined;
  return running
    ?.finally(() => others.delete(statement))
    .then((result) => {
      observer.afterStatement(statement);
      return result;
    });
}

function tellEnd(
  observer: StatementObserver,
  statement: Statement,
): { error: unknown } | undefined {
  try {
    observer.afterStatement(statement);
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Whether a process may die at it. */
export function isOwnStep({ text }: Statement): boolean {
  return !FRAME.test(text);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
