import type { CallPolicy } from './calls/idempotency.js';
import type { IdempotencyModuleExtras, IdempotencyModuleOptions } from './idempotency.options.js';
import { POLICY_NAMES } from './policy/policy.js';
import type { Names } from './policy/unknown-names.js';

export const OPTION_NAMES = {
  ...POLICY_NAMES,
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
  foreignCalls: true,
  maintenance: true,
  outbox: true,
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

export const REPLAY_CACHE_NAMES = { ttl: true, maxBytes: true } satisfies Names<
  Exclude<IdempotencyModuleOptions['replayCache'], false | undefined>
>;
