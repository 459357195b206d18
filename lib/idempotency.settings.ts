import { inspect } from 'node:util';
import { resolveMaintenance, type MaintenanceSettings } from './background/maintenance.settings.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import type { IdempotencyModuleOptions } from './idempotency.options.js';
import type { IdempotencyPolicy, ScopeOption } from './policy/policy.js';
import type { DescribeScope } from './telemetry/key-labels.js';
import { refuseUnknownNames } from './policy/unknown-names.js';
import {
  checkLease,
  milliseconds,
  resolvePolicy,
  timerMilliseconds,
  type ResolvedPolicy,
} from './policy/resolve-policy.js';
import type { CallPolicy } from './calls/idempotency.js';
import type { CoverageMode } from './coverage/idempotency-coverage.js';
import {
  BREAKER_NAMES,
  CALL_POLICY_NAMES,
  EXTRA_NAMES,
  OPTION_NAMES,
  REPLAY_CACHE_NAMES,
} from './option-names.js';
import { resolveEncryption, type EncryptionSettings } from './encryption/encryption.settings.js';
import { resolveLimitsOption, type ResolvedLimits } from './limits/resolve-limits.js';
import { resolveOutbox, type OutboxSettings } from './outbox/outbox.settings.js';
import { UsageGuard } from './phases/usage-guard.js';
import type { BreakerSettings } from './postgres/store-breaker.js';
import type { Dialect } from './answers/dialect.js';
import { forbiddenReplayHeaders } from './answers/replay-headers.js';

const WHERE = 'forRoot options';

/** A token of RFC 9110: a valid header name. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The module's options with every default filled in. */
export class IdempotencySettings {
  readonly scope: ScopeOption;
  readonly describeScope: DescribeScope | undefined;
  readonly dialect: Dialect;
  readonly specification: string | undefined;
  readonly clientRetries: number | undefined;
  readonly coverage: CoverageMode;
  readonly openapi: boolean;
  readonly header: string;
  readonly replayHeaders: readonly string[];
  readonly storeTimeout: number;
  readonly shutdownTimeout: number;
  readonly preparedStatements: boolean;
  readonly batching: boolean;
  /** False: nothing is kept. */
  readonly replayCache: false | { ttl: number; maxBytes: number };
  readonly limits: ResolvedLimits | ((scope: string) => unknown) | undefined;
  /** False: every request asks the database. */
  readonly circuitBreaker: false | BreakerSettings;
  readonly guard: UsageGuard;
  readonly maintenance: MaintenanceSettings;
  readonly outbox: OutboxSettings;
  readonly readOnly: boolean;
  readonly rowLevelSecurity: boolean;
  /** Undefined: users' data is stored as it is. */
  readonly encryption: EncryptionSettings | undefined;
  /** The part of the options that routes may override. */
  readonly policy: IdempotencyPolicy;

  constructor(options: IdempotencyModuleOptions | undefined) {
    const {
      scope,
      describeScope,
      dialect = 'ietf',
      specification,
      clientRetries,
      coverage = 'ignore',
      openapi = true,
      header = 'Idempotency-Key',
      replayHeaders = [],
      storeTimeout = '5s',
      shutdownTimeout = '10s',
      preparedStatements = true,
      readOnly = false,
      rowLevelSecurity = false,
      batching = !rowLevelSecurity,
      replayCache = {},
      limits,
      circuitBreaker = {},
      foreignCalls = process.env.NODE_ENV === 'production' ? 'ignore' : 'warn',
      maintenance,
      outbox,
      encryption,
      ...policy
    } = options ?? ({} as Partial<IdempotencyModuleOptions>);
    const misplaced = Object.keys(EXTRA_NAMES).filter((name) => name in policy);
    if (misplaced.length > 0) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: ${misplaced.join(', ')} came from the factory, but has to be known before it runs. Give it beside useFactory, useClass or useExisting in forRootAsync().`,
      );
    }
    refuseUnknownNames(WHERE, options, { ...OPTION_NAMES, ...EXTRA_NAMES });
    if (scope !== 'global' && typeof scope !== 'function') {
      throw new IdempotencyConfigurationError(
        `${WHERE}: scope is missing. It says whose key it is; without it one caller could receive another one's answer. ` +
          'Pass a function that returns a stable id of the authenticated caller, such as scope: (request) => request.user?.id, ' +
          "or scope: 'global' if all requests come from one caller.",
      );
    }
    if (describeScope !== undefined && typeof describeScope !== 'function') {
      throw new IdempotencyConfigurationError(
        `${WHERE}: describeScope is ${inspect(describeScope)}. Use a function that returns what logs and metrics may show of a scope, or leave it out for a short hash.`,
      );
    }
    if (dialect !== 'ietf' && dialect !== 'stripe' && typeof dialect !== 'function') {
      throw new IdempotencyConfigurationError(
        `${WHERE}: dialect is ${inspect(dialect)}. Use 'ietf' or 'stripe', or a function that returns the answer for a problem.`,
      );
    }
    if (typeof header !== 'string' || !HEADER_NAME.test(header)) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: header is ${inspect(header)}, which is not a header name. Use one such as 'Idempotency-Key'.`,
      );
    }
    if (!['ignore', 'warn', 'throw'].includes(foreignCalls)) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: foreignCalls is ${inspect(foreignCalls)}. Use 'ignore', 'warn' or 'throw'.`,
      );
    }
    if (!['ignore', 'warn', 'error'].includes(coverage)) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: coverage is ${inspect(coverage)}. Use 'ignore', 'warn' or 'error'.`,
      );
    }
    if (typeof openapi !== 'boolean') {
      throw new IdempotencyConfigurationError(
        `${WHERE}: openapi is ${inspect(openapi)}. Use true or false.`,
      );
    }
    const names: unknown = replayHeaders;
    if (!Array.isArray(names) || names.some((name) => !HEADER_NAME.test(String(name)))) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: replayHeaders is ${inspect(names)}. Use a list of header names, such as ['x-request-cost'].`,
      );
    }
    const forbidden = forbiddenReplayHeaders(replayHeaders);
    if (forbidden.length > 0) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: replayHeaders names ${forbidden.join(', ')}, which must never be replayed: such a header belongs to one connection or one caller, or is computed for each answer. Remove it.`,
      );
    }
    this.scope = scope;
    this.describeScope = describeScope;
    this.dialect = dialect;
    this.specification = resolveSpecification(specification);
    this.clientRetries =
      clientRetries === undefined ? undefined : milliseconds(WHERE, 'clientRetries', clientRetries);
    this.coverage = coverage;
    this.openapi = openapi;
    this.header = header;
    this.replayHeaders = replayHeaders.map((name) => name.toLowerCase());
    this.storeTimeout = timerMilliseconds(WHERE, 'storeTimeout', storeTimeout);
    this.shutdownTimeout = timerMilliseconds(WHERE, 'shutdownTimeout', shutdownTimeout);
    if (typeof preparedStatements !== 'boolean') {
      throw new IdempotencyConfigurationError(
        `${WHERE}: preparedStatements is ${inspect(preparedStatements)}. Use true or false.`,
      );
    }
    this.preparedStatements = preparedStatements;
    for (const [name, value] of Object.entries({ batching, readOnly, rowLevelSecurity })) {
      if (typeof value !== 'boolean') {
        throw new IdempotencyConfigurationError(
          `${WHERE}: ${name} is ${inspect(value)}. Use true or false.`,
        );
      }
    }
    if (batching && rowLevelSecurity) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: batching lets requests of several scopes share a statement, and rowLevelSecurity lets a statement see one of them. Remove one of the two.`,
      );
    }
    if (readOnly && maintenance) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: readOnly: true, and maintenance asks for jobs, which write. Remove one of the two.`,
      );
    }
    this.batching = batching;
    this.readOnly = readOnly;
    this.rowLevelSecurity = rowLevelSecurity;
    this.replayCache = resolveReplayCache(replayCache);
    this.limits = resolveLimitsOption(WHERE, limits);
    this.circuitBreaker = resolveCircuitBreaker(circuitBreaker, this.storeTimeout);
    if (this.storeTimeout === 0) {
      throw new IdempotencyConfigurationError(
        `${WHERE}: storeTimeout is 0, so every statement would be given up and every request refused. Use a time such as '5s'.`,
      );
    }
    this.guard = new UsageGuard(foreignCalls);
    this.policy = policy;
    // Mistakes in the module's own policy are errors even if no route uses it.
    const { lease } = resolvePolicy(dialect, [policy], WHERE);
    this.maintenance = resolveMaintenance(WHERE, readOnly ? false : maintenance, lease);
    this.outbox = resolveOutbox(WHERE, outbox);
    this.encryption = resolveEncryption(WHERE, encryption);
    checkLease(WHERE, 'lease', lease, this.storeTimeout);
    checkLease(WHERE, 'outbox.lease', this.outbox.lease, this.storeTimeout);
  }

  callPolicy(own: CallPolicy, where: string): ResolvedPolicy {
    refuseUnknownNames(where, own, CALL_POLICY_NAMES);
    return this.entryPolicy([own], where);
  }

  /**
   * Of a handler that no HTTP request calls. What the module says of requests does not hold for it.
   *
   * @param names what of the module's policy holds for it nevertheless
   */
  entryPolicy(
    layers: readonly (IdempotencyPolicy | undefined)[],
    where: string,
    names: object = CALL_POLICY_NAMES,
  ): ResolvedPolicy {
    const policy = resolvePolicy(this.dialect, [forCalls(this.policy, names), ...layers], where);
    checkLease(where, 'lease', policy.lease, this.storeTimeout);
    return policy;
  }
}

/** What the module says of every request, as far as a call that is none can follow it. */
function forCalls(policy: IdempotencyPolicy, names: object): IdempotencyPolicy {
  const common = Object.entries(policy).filter(
    ([name, value]) => Object.hasOwn(names, name) && value !== 'accept',
  );
  return Object.fromEntries(common);
}

/** Problems link to it, each to its own anchor. */
function resolveSpecification(option: unknown): string | undefined {
  if (option === undefined) return undefined;
  const url = typeof option === 'string' && URL.canParse(option) ? new URL(option) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.href.includes('#')) {
    throw new IdempotencyConfigurationError(
      `${WHERE}: specification is ${inspect(option)}. Use the absolute address of a page, without a fragment, such as 'https://api.example.com/docs/idempotency': problems are sent with #<code> behind it.`,
    );
  }
  return url.href;
}

function resolveCircuitBreaker(
  option: NonNullable<IdempotencyModuleOptions['circuitBreaker']>,
  storeTimeout: number,
): IdempotencySettings['circuitBreaker'] {
  if (option === false) return false;
  if (typeof option !== 'object' || option === null) {
    throw new IdempotencyConfigurationError(
      `${WHERE}: circuitBreaker is ${inspect(option)}. Use { failures, after }, or false to let every request wait for the database.`,
    );
  }
  refuseUnknownNames(WHERE, option, BREAKER_NAMES, 'circuitBreaker.');
  // More than one lost connection or stuck row, and as few as a quiet process can have. The time
  // is that of a request which waits in vain: an outage that is shorter costs none of them.
  const { failures = 3, after = storeTimeout } = option;
  if (!Number.isSafeInteger(failures) || failures < 1) {
    throw new IdempotencyConfigurationError(
      `${WHERE}: circuitBreaker.failures is ${inspect(failures)}. Use a whole number from 1, or circuitBreaker: false to let every request wait for the database.`,
    );
  }
  return {
    failures,
    after: milliseconds(WHERE, 'circuitBreaker.after', after),
    // Five probes at most are under way, and never one per request.
    probePatience: storeTimeout / 5,
  };
}

function resolveReplayCache(
  option: NonNullable<IdempotencyModuleOptions['replayCache']>,
): IdempotencySettings['replayCache'] {
  if (option === false) return false;
  if (typeof option !== 'object' || option === null) {
    throw new IdempotencyConfigurationError(
      `${WHERE}: replayCache is ${inspect(option)}. Use { ttl, maxBytes }, or false to keep nothing.`,
    );
  }
  refuseUnknownNames(WHERE, option, REPLAY_CACHE_NAMES, 'replayCache.');
  const { ttl = '5s', maxBytes = 8 * 1024 * 1024 } = option;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0) {
    throw new IdempotencyConfigurationError(
      `${WHERE}: replayCache.maxBytes is ${inspect(maxBytes)}. Use a whole number of bytes, or replayCache: false to keep nothing.`,
    );
  }
  return { ttl: timerMilliseconds(WHERE, 'replayCache.ttl', ttl), maxBytes };
}
