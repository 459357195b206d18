import { inspect } from 'node:util';
import { parseDuration, type Duration } from './duration.js';
import { IdempotencyConfigurationError } from './configuration-error.js';
import type { IdempotencyPolicy, Outcome } from './policy.js';
import { LONGEST_RETENTION, retentionByAnswer, type RetentionOf } from './retention-by-answer.js';
import type { Dialect, NamedDialect } from '../answers/dialect.js';

/** A route's policy with all defaults filled in and every duration in milliseconds. */
export interface ResolvedPolicy extends Required<
  Omit<
    IdempotencyPolicy,
    'retention' | 'lease' | 'maxRunTime' | 'waitFor' | 'fingerprint' | 'key' | 'scope' | 'skip'
  >
> {
  /** Null is for ever. Of a key that has no answer yet, if `retentionOf` is there. */
  retention: number | null;
  /** Where it depends on the answer. */
  retentionOf: RetentionOf | undefined;
  lease: number;
  maxRunTime: number;
  waitFor: number;
  fingerprint: IdempotencyPolicy['fingerprint'];
  key: IdempotencyPolicy['key'];
  scope: IdempotencyPolicy['scope'];
  skip: IdempotencyPolicy['skip'];
}

const DEFAULTS = {
  required: true,
  settle: false,
  run: 'request',
  phased: false,
  keepRequest: false,
  keyspace: 'scope',
  retention: '24h',
  lease: '30s',
  maxRunTime: '15m',
  onInProgress: 'reject',
  waitFor: '10s',
  onMismatch: 'reject',
  onAbandoned: 'unknown',
  onServerError: 'retry',
  onExpired: 'forget',
  staleKeys: 'accept',
  hygiene: 'warn',
  maxResponseBytes: 1024 * 1024,
} as const satisfies IdempotencyPolicy;

/** The defaults that a dialect changes. Stripe stores every answer once execution has begun. */
const PRESETS: Record<NamedDialect, IdempotencyPolicy> = {
  ietf: {},
  stripe: { onServerError: 'store' },
};

const CHOICES = {
  run: ['request', 'background'],
  keyspace: ['scope', 'endpoint'],
  onInProgress: ['reject', 'accept', 'wait'],
  onMismatch: ['reject', 'replay'],
  onAbandoned: ['resume', 'unknown'],
  onServerError: ['retry', 'store', 'unknown'],
  onExpired: ['forget', 'gone'],
  staleKeys: ['accept', 'reject'],
  hygiene: ['warn', 'refuse', 'off'],
} as const;

/** A wrong type would otherwise only show after the handler has run. */
const TYPES = {
  required: 'boolean',
  settle: 'boolean',
  phased: 'boolean',
  isFinal: 'function',
  fingerprint: 'function',
  key: 'function',
  skip: 'function',
} as const;

/** Proxies and clients commonly close a silent connection after 60 s. */
const LONGEST_WAIT = 55_000;

/** A timer of Node with a longer delay than this (24.8 days) fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** There are three heartbeats per lease; below this they would load the database. */
const SHORTEST_LEASE = 100;

/** Nobody reads warnings in production, and tests use short keys on purpose. */
function ofEnvironment(): IdempotencyPolicy {
  return ['production', 'test'].includes(process.env.NODE_ENV ?? '') ? { hygiene: 'off' } : {};
}

/**
 * Merges the layers (module, class, handler: later ones win, field by field) and
 * refuses invalid values. `where` names the place in errors.
 */
export function resolvePolicy(
  dialect: Dialect,
  layers: readonly (IdempotencyPolicy | undefined)[],
  where: string,
): ResolvedPolicy {
  const merged: IdempotencyPolicy & typeof DEFAULTS = { ...DEFAULTS };
  const preset = typeof dialect === 'function' ? {} : PRESETS[dialect];
  let byAnswer: ByAnswer | undefined;
  for (const layer of [ofEnvironment(), preset, ...layers]) {
    for (const [field, value] of Object.entries(layer ?? {})) {
      if (value === undefined) continue;
      if (field === 'retention') byAnswer = isByAnswer(value) ? value : undefined;
      // The layer before it says how long an open key is kept.
      if (field !== 'retention' || !byAnswer) Object.assign(merged, { [field]: value });
    }
  }
  const policy: IdempotencyPolicy & { [F in keyof typeof DEFAULTS]: unknown } = merged;

  for (const [field, allowed] of Object.entries(CHOICES)) {
    const value = policy[field as keyof typeof CHOICES];
    if (!(allowed as readonly unknown[]).includes(value)) {
      throw new IdempotencyConfigurationError(
        `${where}: ${field} is ${inspect(value)}. Use one of ${allowed.map((a) => `'${a}'`).join(', ')}.`,
      );
    }
  }
  for (const [field, type] of Object.entries(TYPES)) {
    const value = policy[field as keyof typeof TYPES];
    if (value !== undefined && typeof value !== type) {
      throw new IdempotencyConfigurationError(
        `${where}: ${field} is ${inspect(value)}. Use a ${type}.`,
      );
    }
  }

  const { scope } = policy;
  if (scope !== undefined && scope !== 'global' && typeof scope !== 'function') {
    throw new IdempotencyConfigurationError(
      `${where}: scope is ${inspect(scope)}. Use a function that returns a stable id of the authenticated caller, or 'global'.`,
    );
  }
  const lease = timerMilliseconds(where, 'lease', policy.lease as Duration);
  const retention =
    policy.retention === 'forever'
      ? null
      : milliseconds(where, 'retention', policy.retention as Duration);
  const waitFor = milliseconds(where, 'waitFor', policy.waitFor as Duration);
  const maxRunTime = milliseconds(where, 'maxRunTime', policy.maxRunTime as Duration);
  const maxResponseBytes = policy.maxResponseBytes as number;

  for (const layer of layers) {
    if (layer?.phased && layer.onAbandoned === 'unknown') {
      throw new IdempotencyConfigurationError(
        `${where}: phased: true and onAbandoned: 'unknown' contradict each other: a phased route can always be run again from the beginning. Remove one of them.`,
      );
    }
  }
  if (lease < SHORTEST_LEASE) {
    throw new IdempotencyConfigurationError(
      `${where}: lease is ${lease} ms, which leaves no time to renew it. Use at least ${SHORTEST_LEASE} ms; seconds are usual.`,
    );
  }
  if (retention !== null && retention > LONGEST_RETENTION) {
    throw new IdempotencyConfigurationError(
      `${where}: retention is ${inspect(policy.retention)}, more than a century. Use 'forever'.`,
    );
  }
  if (retention !== null && lease > retention) {
    throw new IdempotencyConfigurationError(
      `${where}: lease (${lease} ms) is longer than retention (${retention} ms), so a key would be forgotten while it runs. Shorten lease or lengthen retention.`,
    );
  }
  if (waitFor > LONGEST_WAIT) {
    throw new IdempotencyConfigurationError(
      `${where}: waitFor is ${waitFor} ms, but clients and proxies cut a silent connection after about 60 s. Use at most '55s'.`,
    );
  }
  if (maxRunTime < lease) {
    throw new IdempotencyConfigurationError(
      `${where}: maxRunTime (${maxRunTime} ms) is shorter than lease (${lease} ms), so no heartbeat would ever be sent. Lengthen maxRunTime or shorten lease.`,
    );
  }
  if (!Number.isSafeInteger(maxResponseBytes) || maxResponseBytes < 0) {
    throw new IdempotencyConfigurationError(
      `${where}: maxResponseBytes is ${String(policy.maxResponseBytes)}. Use a whole number of bytes, such as 1048576.`,
    );
  }

  if (typeof policy.keepRequest !== 'boolean' && typeof policy.keepRequest !== 'function') {
    throw new IdempotencyConfigurationError(
      `${where}: keepRequest is ${inspect(policy.keepRequest)}. Use true, false, or a function of the request that returns what to keep.`,
    );
  }
  // A worker runs the operation again from the beginning, so the route has to be phased.
  const phased = merged.phased || (policy.run as ResolvedPolicy['run']) === 'background';

  const onServerError = merged.onServerError as ResolvedPolicy['onServerError'];
  return {
    ...merged,
    phased,
    // Before its first phase it only read.
    onAbandoned: phased ? 'resume' : merged.onAbandoned,
    onServerError,
    retention,
    retentionOf: byAnswer && retentionByAnswer(where, byAnswer, retention),
    lease,
    waitFor,
    maxRunTime,
    isFinal: merged.isFinal ?? ((outcome) => isFinalByDefault(outcome, onServerError)),
    fingerprint: merged.fingerprint,
    key: merged.key,
    scope,
    skip: merged.skip,
  };
}

type ByAnswer = Extract<IdempotencyPolicy['retention'], (outcome: Outcome) => unknown>;

function isByAnswer(value: unknown): value is ByAnswer {
  return typeof value === 'function';
}

/**
 * A statement may take as long as `storeTimeout`. A shorter lease could lapse
 * while an outcome is being recorded, and finished work would become unknown.
 */
export function checkLease(
  where: string,
  option: string,
  lease: number,
  storeTimeout: number,
): void {
  if (lease >= storeTimeout) return;
  throw new IdempotencyConfigurationError(
    `${where}: ${option} (${lease} ms) is shorter than storeTimeout (${storeTimeout} ms), so it could lapse while one slow statement records the outcome, and finished work would be taken for abandoned. Lengthen ${option}, or shorten storeTimeout.`,
  );
}

function isFinalByDefault(
  { status }: Outcome,
  onServerError: ResolvedPolicy['onServerError'],
): boolean {
  return status >= 500 ? onServerError === 'store' : isLastWord(status);
}

/** 408, 425 and 429 ask the client to retry. */
export function isLastWord(status: number): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}

export function milliseconds(where: string, option: string, duration: Duration): number {
  const parsed = parseDuration(duration);
  if (parsed === undefined) {
    throw new IdempotencyConfigurationError(
      `${where}: ${option} is ${inspect(duration)}, which is not a duration. Use milliseconds or a number with ms, s, m, h or d, such as '30s'.`,
    );
  }
  return parsed;
}

/** The same, for a duration that a timer of Node can wait. */
export function timerMilliseconds(where: string, option: string, duration: Duration): number {
  const parsed = milliseconds(where, option, duration);
  if (parsed > LONGEST_TIMER) {
    throw new IdempotencyConfigurationError(
      `${where}: ${option} is ${inspect(duration)}, which is longer than a timer can wait. Use at most '24d'.`,
    );
  }
  return parsed;
}
