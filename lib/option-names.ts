import type { JobOptions, MaintenanceOptions } from './background/maintenance.options.js';
import { IdempotencyConfigurationError } from './idempotency.errors.js';
import type {
  IdempotencyModuleExtras,
  IdempotencyModuleOptions,
  IdempotencyPolicy,
} from './idempotency.options.js';
import type { OutboxOptions } from './outbox/outbox.options.js';

// Types are gone at run time, so the names are listed here once more. The
// compiler sees to it that no list lacks a name or has one too many.

type Names<T> = Record<keyof T, true>;

export const POLICY_NAMES = {
  required: true,
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
  isFinal: true,
  fingerprint: true,
  maxResponseBytes: true,
} satisfies Names<IdempotencyPolicy>;

export const OPTION_NAMES = {
  ...POLICY_NAMES,
  scope: true,
  dialect: true,
  header: true,
  replayHeaders: true,
  storeTimeout: true,
  shutdownTimeout: true,
  preparedStatements: true,
  replayCache: true,
  foreignCalls: true,
  maintenance: true,
  outbox: true,
  specification: true,
} satisfies Names<IdempotencyModuleOptions>;

/** What has to be known before a factory runs. */
export const EXTRA_NAMES = {
  isGlobal: true,
  dataSource: true,
  schema: true,
  statusPath: true,
  statusGuards: true,
} satisfies Names<IdempotencyModuleExtras>;

/** What stands beside them in `forRootAsync()`. */
export const ASYNC_NAMES = {
  ...EXTRA_NAMES,
  imports: true,
  inject: true,
  useFactory: true,
  useClass: true,
  useExisting: true,
  provideInjectionTokensFrom: true,
};

export const REPLAY_CACHE_NAMES = { ttl: true, maxBytes: true } satisfies Names<
  Exclude<IdempotencyModuleOptions['replayCache'], false | undefined>
>;

const JOB_NAMES = { interval: true, maxInterval: true, batch: true } satisfies Names<JobOptions>;

/** The names of each job's options. */
export const MAINTENANCE_NAMES = {
  sweeper: JOB_NAMES,
  reaper: JOB_NAMES,
  completer: { ...JOB_NAMES, maxAttempts: true },
  reconciler: { ...JOB_NAMES, maxAttempts: true },
  outbox: JOB_NAMES,
} satisfies {
  [Job in keyof Required<MaintenanceOptions>]: Names<
    Exclude<MaintenanceOptions[Job], false | undefined>
  >;
};

export const OUTBOX_NAMES = {
  transport: true,
  maxAttempts: true,
  lease: true,
  maxRunTime: true,
} satisfies Names<OutboxOptions>;

/**
 * Refuses options that do not exist: a misspelt one would be ignored, and its
 * default would hold without a word.
 * @param where what is wrong with which options, at the beginning of the error
 * @param path what comes before the name, such as `maintenance.`
 * @param elsewhere names that exist, but not here, and where they belong
 */
export function refuseUnknownNames(
  where: string,
  given: object | null | undefined,
  known: object,
  path = '',
  elsewhere: { names: object; place: string } = { names: {}, place: '' },
): void {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
    const cure = Object.hasOwn(elsewhere.names, name)
      ? `It belongs ${elsewhere.place}.`
      : suggestionFor(name, Object.keys(known));
    throw new IdempotencyConfigurationError(
      `${where}: there is no option ${path}${name} here, so it would have no effect. ${cure}`,
    );
  }
}

function suggestionFor(name: string, known: string[]): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: distanceBetween(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, candidate.length / 3))
    .sort((a, b) => a.distance - b.distance);
  return nearest ? `Did you mean ${nearest.candidate}?` : `The options are ${known.join(', ')}.`;
}

/** How many letters have to be added, removed or changed (Levenshtein); case does not count. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, letter] of a.toLowerCase().split('').entries()) {
    const next = [index + 1];
    for (const [column, other] of b.toLowerCase().split('').entries()) {
      const changed = row[column]! + (letter === other ? 0 : 1);
      next.push(Math.min(changed, row[column + 1]! + 1, next[column]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
