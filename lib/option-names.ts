import type { CallPolicy } from './calls/idempotency.js';
import type { IdempotencyModuleExtras, IdempotencyModuleOptions } from './idempotency.options.js';
import type { EntryKind } from './policy/handler-kinds.js';
import { POLICY_NAMES, type IdempotencyPolicy } from './policy/policy.js';
import type { Names } from './policy/unknown-names.js';

const { settle: _ofMessages, ...OF_ANY_REQUEST } = POLICY_NAMES;

export const OPTION_NAMES = {
  ...OF_ANY_REQUEST,
  scope: true,
  describeScope: true,
  dialect: true,
  clientRetries: true,
  coverage: true,
  openapi: true,
  header: true,
  replayHeaders: true,
  storeTimeout: true,
  shutdownTimeout: true,
  preparedStatements: true,
  batching: true,
  replayCache: true,
  limits: true,
  circuitBreaker: true,
  foreignCalls: true,
  maintenance: true,
  outbox: true,
  readOnly: true,
  rowLevelSecurity: true,
  encryption: true,
  specification: true,
} satisfies Names<IdempotencyModuleOptions>;

/** Options that must be known before a factory runs. */
export const EXTRA_NAMES = {
  isGlobal: true,
  dataSource: true,
  schema: true,
  statusPath: true,
  statusGuards: true,
  discovery: true,
  operatorPage: true,
} satisfies Names<IdempotencyModuleExtras>;

/** The members of `forRootAsync()` beside them. */
export const ASYNC_NAMES = {
  ...EXTRA_NAMES,
  imports: true,
  inject: true,
  useFactory: true,
  useClass: true,
  useExisting: true,
  provideInjectionTokensFrom: true,
};

/** What a call that is no request may say for itself. */
export const CALL_POLICY_NAMES = {
  phased: true,
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
  isFinal: true,
  maxResponseBytes: true,
} satisfies Names<CallPolicy>;

const WITH_A_CALLER = {
  ...CALL_POLICY_NAMES,
  required: true,
  key: true,
  scope: true,
  skip: true,
  fingerprint: true,
  keepRequest: true,
} satisfies Partial<Names<IdempotencyPolicy>>;
const OF_MESSAGES = { ...WITH_A_CALLER, settle: true } satisfies Partial<Names<IdempotencyPolicy>>;

/** A mutation comes in by HTTP, with the header or without it. */
const OF_MUTATIONS = { ...CALL_POLICY_NAMES, required: true } satisfies Partial<
  Names<IdempotencyPolicy>
>;

/** What holds of the module's policy for a handler that no HTTP request calls. */
export const INHERITED_NAMES: Record<EntryKind, object> = {
  message: CALL_POLICY_NAMES,
  event: CALL_POLICY_NAMES,
  mutation: OF_MUTATIONS,
};

/** What the policy of a handler may say that no HTTP request calls. */
export const ENTRY_POLICY_NAMES: Record<EntryKind, object> = {
  message: OF_MESSAGES,
  event: OF_MESSAGES,
  mutation: WITH_A_CALLER,
};

export const BREAKER_NAMES = { failures: true, after: true } satisfies Names<
  Exclude<IdempotencyModuleOptions['circuitBreaker'], false | undefined>
>;

export const REPLAY_CACHE_NAMES = { ttl: true, maxBytes: true } satisfies Names<
  Exclude<IdempotencyModuleOptions['replayCache'], false | undefined>
>;
