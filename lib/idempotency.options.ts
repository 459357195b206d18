import type { CanActivate, Type } from '@nestjs/common';
import type { Dialect } from './answers/dialect.js';
import type { CoverageMode } from './coverage/idempotency-coverage.js';
import type { MaintenanceOptions } from './background/maintenance.options.js';
import type { OperatorPageOptions } from './operator/page/page.options.js';
import type { EncryptionOptions } from './encryption/encryption.options.js';
import type { OutboxOptions } from './outbox/outbox.options.js';
import type { GuardMode } from './phases/usage-guard.js';
import type { LimitsOption } from './limits/limits.options.js';
import type { Duration } from './policy/duration.js';
import type { IdempotencyPolicy, ScopeOption } from './policy/policy.js';
import type { DescribeScope } from './telemetry/key-labels.js';

export interface IdempotencyModuleOptions extends Omit<IdempotencyPolicy, 'settle'> {
  /** Required: without a scope one caller would receive another one's answers. */
  scope: ScopeOption;

  /**
   * What logs, events and metrics show of a scope, such as its plan, or its id if
   * that is not secret. It is only called when something is shown, and applies to
   * the whole process.
   * @default a short hash
   */
  describeScope?: DescribeScope;

  /**
   * The shape of the library's own errors: the IETF draft's problem documents,
   * Stripe's `error` objects and status codes for Stripe's clients, or a function
   * that makes your API's error envelope. These answers bypass your exception
   * filters, and outer interceptors do not see them, so use a function for your
   * envelope.
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
   * For how long your clients may retry a request. A shorter `retention` leaves a
   * line in the log at boot, or stops it with `hygiene: 'refuse'`.
   * @default none; 24 hours are taken for usual where `hygiene` is on
   */
  clientRetries?: Duration;

  /**
   * What to do at boot about routes, message handlers and mutations that change
   * something and have neither `@Idempotent()` nor `@NotIdempotent('reason')`.
   * @default 'ignore'
   */
  coverage?: CoverageMode;

  /**
   * Describe the idempotent routes in the documents of @nestjs/swagger: the header,
   * the answers of the library, retention and policy. What your own decorators say
   * stays as it is.
   * @default true
   */
  openapi?: boolean;

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
   * How long a statement of the library may take, including the wait for a
   * connection, before the request is refused with 503. Raise it if your pool is
   * small and bursts are long.
   * @default '5s'
   */
  storeTimeout?: Duration;

  /**
   * How long a shutdown waits for running attempts before it releases their
   * leases, and for reservations of refused requests to be withdrawn. Keep it below
   * the time your orchestrator allows before SIGKILL.
   * @default '10s'
   */
  shutdownTimeout?: Duration;

  /**
   * Keep the statements of every request prepared on the connections of the pool,
   * which makes them about twice as fast. A transaction-pooling proxy without
   * support for prepared statements (PgBouncer before 1.21) is detected at the
   * first one that is not found; the statement is repeated unprepared.
   * @default true
   */
  preparedStatements?: boolean;

  /**
   * Let concurrent requests of this process share statements. Without it, each
   * request sends its own, which costs the database more under load; turn it off
   * to find out whether a problem is caused by sharing.
   *
   * @default true
   */
  batching?: boolean;

  /**
   * Lets a process answer a burst of retries from memory: a finished key that was
   * just read is not read again for `ttl`. For that long a process may also
   * replay a key that an operator has evicted through another process. Up to
   * `maxBytes` are kept. False reads the key for each retry.
   * @default { ttl: '5s', maxBytes: 8388608 (8 MiB) }
   */
  replayCache?: false | { ttl?: Duration; maxBytes?: number };

  /**
   * How many new keys, unfinished operations, waiting duplicates and stored bytes one
   * scope may have, so that one caller cannot fill the tables: the same for all scopes,
   * or a function of the scope. A new key over a limit is refused with 429; retries never
   * are.
   * @default no limits
   */
  limits?: LimitsOption;

  /**
   * Refuses requests with 503 at once while the database is down, instead of letting them
   * queue: after `failures` lost or unanswered statements in a row, the first of them begun
   * `after` ago. One request at a time is let through, and the first answer ends it.
   * Outcomes of running attempts are recorded in any case. False lets each request wait
   * for `storeTimeout`.
   * @default { failures: 3, after: storeTimeout }
   */
  circuitBreaker?: false | { failures?: number; after?: Duration };

  /**
   * What to do about effects of idempotent handlers that phases do not protect:
   * outgoing HTTP requests (inside a transaction, several in one foreign call,
   * unsafe ones outside any phase), and writes to the module's data source
   * (outside any phase, in a foreign call, or past the `tx` of a phase). On
   * phased routes, those that a phase could have protected are always errors. Use
   * `'throw'` in tests: the logger of `Test.createTestingModule()` drops
   * warnings.
   * @default 'warn', and 'ignore' where NODE_ENV is production
   */
  foreignCalls?: GuardMode;

  /**
   * The jobs: sweeping, reaping, completing, reconciling, delivering. False
   * leaves them to other processes.
   * @default everything on
   */
  maintenance?: false | MaintenanceOptions;

  /** How the messages of the outbox are delivered, and where to. */
  outbox?: OutboxOptions;

  /**
   * This process only reads: the operator finds, inspects and exports, and the
   * operator page shows, but nothing is decided, no job runs and no request with a
   * key is served. It needs the right to SELECT and nothing else, and may use a
   * standby.
   * @default false
   */
  readOnly?: boolean;

  /**
   * Each statement of a request sees the rows of its own scope and no others, by
   * policies of the database that `idempotencyGrants({ rowLevelSecurity: true })`
   * makes: even one that forgot its WHERE. It costs each statement three more round
   * trips, and statements are not shared (`batching`).
   * @default false
   */
  rowLevelSecurity?: boolean;

  /**
   * Seals users' data in the tables: answers, kept requests, inputs, what phases
   * and messages carry, audit details and error texts. Whoever reads the database
   * or a backup then needs the master key too, and `IdempotencyOperator.erase()`
   * can make one scope unreadable.
   * @default none: values are stored as they are
   */
  encryption?: EncryptionOptions;
}

/** Options that must be known before the factory runs, so they stand beside `useFactory`. */
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
   * Serves `GET <path>/:id`, which shows the client the progress of a key. A 202
   * answer then has its address in `Location`. A global prefix applies; versions
   * do not.
   * @default no such route
   */
  statusPath?: string;

  /**
   * The guards of that route, as classes or instances, so that `scope` finds the
   * caller there too. Guards on your own controllers do not run for it; global
   * guards do, without being listed.
   * @default none
   */
  statusGuards?: (CanActivate | Type<CanActivate>)[];

  /**
   * Serves `GET /.well-known/idempotency`, by which clients learn the header, the
   * shape of keys, the retention, the dialect and the status route. Neither a
   * global prefix nor versions apply; global guards do.
   * @default false
   */
  discovery?: boolean;

  /**
   * Serves a page on which people find keys, see their outcomes, and resolve what
   * the library cannot. `guards` and `access` say who may open it.
   * @default no such page
   */
  operatorPage?: OperatorPageOptions;
}

/** What a class for `forRootAsync({ useClass })` or `useExisting` implements. */
export interface IdempotencyOptionsFactory {
  createIdempotencyOptions(): IdempotencyModuleOptions | Promise<IdempotencyModuleOptions>;
}
