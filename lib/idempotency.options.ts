import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import type { MaintenanceOptions } from './background/maintenance.options.js';
import type { Duration } from './duration.js';
import type { OutboxOptions } from './outbox/outbox.options.js';
import type { GuardMode } from './phases/usage-guard.js';
import type { Dialect } from './response/dialect.js';

/** How an attempt ended, as `isFinal` sees it. */
export interface Outcome {
  /** The status of the answer, after exception filters. */
  status: number;
  /** What the handler threw, if it threw. */
  error?: unknown;
}

/**
 * What holds for one route. The module's policy is the default; `@Idempotent()`
 * on the class and on the handler override it field by field.
 */
export interface IdempotencyPolicy {
  /**
   * Refuse requests without a key (400 `key_missing`). Set to false while
   * clients are being moved over: a request without a key then runs untouched.
   * PUT and DELETE are idempotent by HTTP's own rules, so there a key is only
   * demanded where the handler's own `@Idempotent()` says `required: true`.
   * @default true
   */
  required?: boolean;

  /**
   * Where the work is done: in the request, or by a worker after the request was
   * answered with 202. The handler then has to call one `@Resumable()` method.
   * @default 'request'
   */
  run?: 'request' | 'background';

  /**
   * Says that everything this handler does beyond reading happens in phases, so
   * that it can be run again from its top. A crash before the first phase then
   * resumes instead of becoming `unknown`. In return, a foreign call or a write
   * outside a phase is an error in every environment. Routes with
   * `run: 'background'` are phased by nature.
   * @default false
   */
  phased?: boolean;

  /**
   * What `IdempotencyOperator.inspect()` shows of the request besides its method,
   * route and path: true keeps the parsed body; a function chooses what to keep,
   * and has to leave out what must not be stored. JSON, at most 64 KiB.
   * @default false
   */
  keepRequest?: boolean | ((request: any) => unknown);

  /**
   * Where a key is unique: in the whole scope, or once per endpoint. Choose
   * `'endpoint'` when clients derive keys from their own ids and use the same
   * one on several routes.
   * @default 'scope'
   */
  keyspace?: 'scope' | 'endpoint';

  /**
   * How long a finished key is remembered. It should cover the longest time in
   * which a client may still retry: a later retry is a new operation.
   * @default '24h'
   */
  retention?: Duration | 'forever';

  /**
   * How long an attempt owns its key without a sign of life. Heartbeats renew
   * it, so it bounds the wait after a crash and not the length of a handler.
   * Longer bears longer stalls of process and database. Not shorter than
   * `storeTimeout`, so that a slow statement cannot outlast it.
   * @default '30s'
   */
  lease?: Duration;

  /**
   * Heartbeats stop after this time, so that a handler that hangs for ever
   * does not hold its key for ever.
   * @default '15m'
   */
  maxRunTime?: Duration;

  /**
   * What a duplicate gets while the first attempt runs: 409, 202, or the first
   * attempt's answer as soon as it is there (for at most `waitFor`, then 409).
   * `'wait'` serves clients best that give up after a few quick retries.
   * @default 'reject'
   */
  onInProgress?: 'reject' | 'accept' | 'wait';

  /**
   * The longest wait of `onInProgress: 'wait'`. At most 55 s, because proxies
   * and clients commonly cut a silent connection after 60 s.
   * @default '10s'
   */
  waitFor?: Duration;

  /**
   * What a finished key answers to another request under the same key. With
   * `'replay'` a client with a changed body silently gets the old answer.
   * @default 'reject'
   */
  onMismatch?: 'reject' | 'replay';

  /**
   * What happens to a key whose attempt died before it recorded any phase.
   * Nobody can know how far a plain handler got, so the default is to say so.
   * `'resume'` runs the handler again: right only where running twice is harmless.
   * @default 'unknown'
   */
  onAbandoned?: 'resume' | 'unknown';

  /**
   * What a 5xx answer means: `'retry'` lets a retry run again (from the last
   * recovery point), `'store'` makes it the final answer, `'unknown'` keeps the
   * key until somebody finds out.
   * @default 'retry' ('store' with the Stripe dialect)
   */
  onServerError?: 'retry' | 'store' | 'unknown';

  /**
   * What a retry gets after `retention`: a new run, or 410.
   * @default 'forget'
   */
  onExpired?: 'forget' | 'gone';

  /**
   * What a key gets that is not on record and whose own time (a UUIDv7 or a
   * ULID tells it) is further back than `retention`: it may be a late retry of
   * something that was forgotten. `'reject'` answers 410 instead of running it
   * as a new operation. Other keys are not affected.
   * @default 'accept'
   */
  staleKeys?: 'accept' | 'reject';

  /**
   * Decides whether an answer is final, that is stored and replayed. An answer
   * that is not final leaves the key open for a retry.
   * @default below 500, except 408, 425 and 429; 5xx as `onServerError` says
   */
  isFinal?: (outcome: Outcome) => boolean;

  /**
   * What a retry has to repeat, instead of the query, media type and body: any
   * JSON value, a string or a Buffer. Use it to leave out a client's timestamp,
   * or to compare the raw body or a file. Method, route and scope always count.
   * Without it, the body counts as far as it was parsed before the interceptor
   * runs: a form that the handler or a later interceptor parses does not.
   */
  fingerprint?: (request: any, context: ExecutionContext) => unknown;

  /**
   * The largest body that is kept for replay. A larger answer still counts as
   * finished: a retry gets 410 `response_unavailable`, never a second run.
   * @default 1048576 (1 MiB)
   */
  maxResponseBytes?: number;
}

/**
 * Whose key it is: a stable name of the authenticated caller (account, tenant or
 * user id). Not the bearer token, which changes on refresh, and nothing from the
 * body, which the caller chooses. At most 1,000 bytes. A number (a safe integer)
 * or a bigint stands for its decimal text: 7, 7n and '7' are the same scope.
 * `'global'` puts all callers into one scope.
 */
export type ScopeOption =
  | 'global'
  // Requests differ between Express and Fastify and carry what guards put on them.
  | ((request: any, context: ExecutionContext) => ScopeValue | Promise<ScopeValue>);

type ScopeValue = string | number | bigint | undefined;

export interface IdempotencyModuleOptions extends IdempotencyPolicy {
  /** Required: without a scope one caller would receive another one's answers. */
  scope: ScopeOption;

  /**
   * The shape of our own errors: the IETF draft's problem documents, Stripe's
   * `error` objects and status codes for clients made for Stripe, or a function
   * that makes the error envelope of your API. These answers do not pass your
   * exception filters, and outer interceptors see no value of them, so a function
   * here is the place for your envelope.
   * @default 'ietf'
   */
  dialect?: Dialect;

  /**
   * The address of your API's idempotency specification, for clients' developers.
   * Problem documents then have `<specification>#<code>` as their type and link
   * to it; Stripe's errors get it as `doc_url`.
   * @default none; problem documents link to the IETF draft
   */
  specification?: string;

  /**
   * The request header that carries the key.
   * @default 'Idempotency-Key'
   */
  header?: string;

  /**
   * Response headers to keep for replay, besides content-type,
   * content-language, content-location, location, etag and last-modified.
   * @default []
   */
  replayHeaders?: string[];

  /**
   * How long a statement of ours may take, waiting for a connection included,
   * before the request is refused with 503. Raise it if your pool is small and
   * bursts are long.
   * @default '5s'
   */
  storeTimeout?: Duration;

  /**
   * How long shutdown waits for running attempts before it lets go of their
   * leases. Keep it below the time your orchestrator allows before SIGKILL.
   * @default '10s'
   */
  shutdownTimeout?: Duration;

  /**
   * Keep the statements of every request prepared on the connections of the
   * pool, which makes them about twice as fast. A proxy that pools transactions
   * and does not know prepared statements (PgBouncer before 1.21) is noticed at
   * the first one that is not found, and it is repeated without a name.
   * @default true
   */
  preparedStatements?: boolean;

  /**
   * Lets a process answer a burst of retries from memory: a finished key that
   * was just read is not read again for `ttl`. That is also how long a process
   * may go on replaying a key that an operator has evicted in another one. Up to
   * `maxBytes` are kept. False reads the key for each retry.
   * @default { ttl: '5s', maxBytes: 8388608 (8 MiB) }
   */
  replayCache?: false | { ttl?: Duration; maxBytes?: number };

  /**
   * What to do about what idempotent handlers do and phases do not protect:
   * outgoing HTTP requests (inside a transaction, several in one foreign call,
   * unsafe ones outside any phase), and writes to the module's data source
   * (outside any phase, in a foreign call, or past the `tx` of a phase). On
   * phased routes, those that a phase could have protected are errors whatever
   * is set here. Use `'throw'` in tests: the logger of
   * `Test.createTestingModule()` drops warnings.
   * @default 'warn', and 'ignore' where NODE_ENV is production
   */
  foreignCalls?: GuardMode;

  /**
   * The work that goes on without a client: sweeping, reaping, completing,
   * reconciling, delivering. False where this process is to leave it to others.
   * @default everything on
   */
  maintenance?: false | MaintenanceOptions;

  /** How the messages of the outbox are delivered, and where to. */
  outbox?: OutboxOptions;
}

/** What has to be known before the options can be made, hence also beside `useFactory`. */
export interface IdempotencyModuleExtras {
  /**
   * Make `AtomicPhase` and the interceptor available in every module.
   * @default true
   */
  isGlobal?: boolean;

  /**
   * The name of the TypeORM data source that holds the business data, so that
   * phases can share its transactions.
   * @default the default data source
   */
  dataSource?: string;

  /**
   * The PostgreSQL schema of the key tables, if it is not the data source's own.
   * Use the same name with `idempotencyMigrationsIn(schema)`.
   */
  schema?: string;

  /**
   * Serves `GET <path>/:id`, which tells the caller how far a key has come. An
   * answer of 202 then carries its address in `Location`. A global prefix
   * applies; versions do not.
   * @default no such route
   */
  statusPath?: string;

  /**
   * The guards of that route, as classes or instances, so that `scope` finds the
   * caller there too. Guards on your own controllers do not run for it; global
   * ones do, and need not be named.
   * @default none
   */
  statusGuards?: (CanActivate | Type<CanActivate>)[];
}

/** What a class for `forRootAsync({ useClass })` or `useExisting` implements. */
export interface IdempotencyOptionsFactory {
  createIdempotencyOptions(): IdempotencyModuleOptions | Promise<IdempotencyModuleOptions>;
}
