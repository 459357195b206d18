import type { ExecutionContext } from '@nestjs/common';
import type { Duration } from './duration.js';
import type { Names } from './unknown-names.js';

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

/** How an attempt ended, as `isFinal` sees it. */
export interface Outcome {
  /** The status of the answer, after exception filters. */
  status: number;
  /** What the handler threw, if it threw. */
  error?: unknown;
}

/**
 * The policy of one route. The module's policy is the default; `@Idempotent()` on
 * the class and on the handler override it field by field.
 */
export interface IdempotencyPolicy {
  /**
   * Refuse requests without a key (400 `key_missing`). Set it to false while
   * clients migrate: a request without a key then runs as if the decorator were
   * not there. PUT and DELETE are idempotent by HTTP's own rules, so there a key
   * is only required if the handler's own `@Idempotent()` says `required: true`.
   * @default true
   */
  required?: boolean;

  /**
   * Where the key is, if not in the header: `(request) => request.body.reference`, or
   * a parameter of the path. Undefined and an empty text count as no key. Of a message
   * handler: `(payload, context) => payload.orderId`, with the context of the transport;
   * of a mutation: `(args, context, info) => args.reference`, as its resolver gets them.
   * @default the header, or the id of the message
   */
  key?: (request: any, context: any, info?: any) => string | number | bigint | null | undefined;

  /**
   * Whose key it is, on this route. The status resource asks the module's `scope`
   * and does not find keys of another one. Of a message handler: `(payload, context)
   * => payload.tenant`; of a mutation: `(request, context)`, as the module's.
   * @default the module's; messages have one for all of a handler's
   */
  scope?: 'global' | ((request: any, context: any) => ScopeValue | Promise<ScopeValue>);

  /**
   * True for requests that are to run untouched, as if they had come without a key
   * where none is required: dry runs, for example. Asked before the key is read. Of a
   * message handler: `(payload, context) => boolean`; of a mutation: `(args, context, info)
   * => boolean`.
   * @default never
   */
  skip?: (request: any, context: any, info?: any) => boolean;

  /**
   * Of a message handler: acknowledges messages of RabbitMQ by itself, and hands back
   * those that have to come again. The server needs `noAck: false`.
   * @default false
   */
  settle?: boolean;

  /**
   * Where the work is done: in the request, or by a worker after the request was
   * answered with 202. The handler then has to call one `@Resumable()` method.
   * @default 'request'
   */
  run?: 'request' | 'background';

  /**
   * Says that everything this handler does beyond reading happens in phases, so
   * that it can be run again from the beginning. A crash before the first phase
   * then resumes instead of becoming `unknown`, and the reservation does not have to
   * wait for the disk, because the first phase does. In return, a foreign call or a
   * write outside a phase is an error in every environment. Routes with `run:
   * 'background'` are always phased.
   * @default false
   */
  phased?: boolean;

  /**
   * What `IdempotencyOperator.inspect()` shows of the request besides its method,
   * route and path: true keeps the parsed body, or a mutation's arguments; a function
   * (of the request, or of a mutation's arguments) returns what to keep,
   * and must leave out what must not be stored. JSON, at most 64 KiB.
   * @default false
   */
  keepRequest?: boolean | ((request: any, context?: any, info?: any) => unknown);

  /**
   * Where a key is unique: in the whole scope, or once per endpoint. Choose
   * `'endpoint'` when clients derive keys from their own ids and use the same
   * one on several routes.
   * @default 'scope'
   */
  keyspace?: 'scope' | 'endpoint';

  /**
   * How long a finished key is remembered. It should cover the longest time in
   * which a client may still retry: a later retry is a new operation. A function
   * of the answer keeps some longer than others, such as errors for an hour and
   * successes for a month. Until there is an answer, and where the function fails,
   * the retention of the class or the module counts.
   * @default '24h'
   */
  retention?: Duration | 'forever' | ((outcome: Outcome) => Duration | 'forever');

  /**
   * How long an attempt owns its key without a sign of life. Heartbeats renew it,
   * so it bounds the wait after a crash and not the length of a handler. A longer
   * lease survives longer stalls of process and database. It must not be shorter
   * than `storeTimeout`, so that a slow statement cannot outlast it.
   * @default '30s'
   */
  lease?: Duration;

  /**
   * Heartbeats stop after this time, so that a handler that never returns does
   * not hold its key for ever.
   * @default '15m'
   */
  maxRunTime?: Duration;

  /**
   * What a duplicate gets while the first attempt runs: 409, 202, or the first
   * attempt's answer as soon as it is there (for at most `waitFor`, then 409).
   * `'wait'` is best for clients that give up after a few quick retries.
   * @default 'reject'
   */
  onInProgress?: 'reject' | 'accept' | 'wait';

  /**
   * The longest wait of `onInProgress: 'wait'`. At most 55 s, because proxies and
   * clients commonly close a silent connection after 60 s.
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
   * What happens to a key whose attempt died before it recorded any phase. Nobody
   * can know how far a plain handler got, so by default the key becomes
   * `unknown`. `'resume'` runs the handler again: correct only where running
   * twice is harmless.
   * @default 'unknown'
   */
  onAbandoned?: 'resume' | 'unknown';

  /**
   * What a 5xx answer means: `'retry'` lets a retry run again (from the last
   * recovery point), `'store'` makes it the final answer, `'unknown'` keeps the
   * key until somebody resolves it.
   * @default 'retry' ('store' with the Stripe dialect)
   */
  onServerError?: 'retry' | 'store' | 'unknown';

  /**
   * What a retry gets after `retention`: a new run, or 410.
   * @default 'forget'
   */
  onExpired?: 'forget' | 'gone';

  /**
   * What happens to a new key whose own timestamp (of a UUIDv7 or a ULID) is
   * older than `retention`: it may be a late retry of a forgotten request.
   * `'reject'` answers 410 instead of running it as a new operation. Other keys
   * are not affected.
   * @default 'accept'
   */
  staleKeys?: 'accept' | 'reject';

  /**
   * What happens to keys that clients should not send: personal data (an e-mail
   * address, a phone number, the number of a card, an IBAN), and keys that are too
   * short or too uniform to be unique. `'warn'` writes one line for each route and
   * kind, without the key; `'refuse'` answers 400 `key_invalid`. Where `key` or
   * `keyspace: 'endpoint'` says that ids are used as keys, they may be short.
   * @default 'warn', and 'off' where NODE_ENV is production or test
   */
  hygiene?: 'warn' | 'refuse' | 'off';

  /**
   * Decides whether an answer is final: stored and replayed. An answer that is
   * not final leaves the key open for a retry.
   * @default below 500, except 408, 425 and 429; 5xx as `onServerError` says
   */
  isFinal?: (outcome: Outcome) => boolean;

  /**
   * What a retry has to repeat, instead of the query, media type and body: any
   * JSON value, a string or a Buffer. Use it to leave out a client's timestamp,
   * or to compare the raw body or a file. Method, route and scope always count.
   * By default the body counts as it was parsed before the interceptor runs: a
   * form that the handler or a later interceptor parses does not count. Of a mutation:
   * `(args, context, info)`; by default all of its arguments count.
   */
  fingerprint?: (request: any, context: any, info?: any) => unknown;

  /**
   * The largest body that is kept for replay. A larger answer still counts as
   * finished: a retry gets 410 `response_unavailable`, never a second run.
   * @default 1048576 (1 MiB)
   */
  maxResponseBytes?: number;
}

/** `Names` explains why they are listed again. */
export const POLICY_NAMES = {
  required: true,
  key: true,
  scope: true,
  skip: true,
  settle: true,
  run: true,
  phased: true,
  keepRequest: true,
  keyspace: true,
  retention: true,
  lease: true,
  maxRunTime: true,
  onInProgress: true,
  waitFor: true,
  onMismatch: true,
  onAbandoned: true,
  onServerError: true,
  onExpired: true,
  staleKeys: true,
  hygiene: true,
  isFinal: true,
  fingerprint: true,
  maxResponseBytes: true,
} satisfies Names<IdempotencyPolicy>;
