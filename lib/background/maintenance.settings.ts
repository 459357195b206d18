import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { timerMilliseconds } from '../policy/resolve-policy.js';
import { MAINTENANCE_NAMES } from './maintenance.options.js';
import { refuseUnknownNames } from '../policy/unknown-names.js';
import type { JobPace } from './job.js';
import type { JobOptions, MaintenanceOptions } from './maintenance.options.js';

export interface JobSettings extends Required<JobPace> {
  enabled: boolean;
  maxAttempts: number;
}

export type MaintenanceSettings = Record<keyof MaintenanceOptions, JobSettings>;

/** The reasons are in maintenance.options.ts and docs/operations.md. */
const DEFAULTS: MaintenanceSettings = {
  sweeper: { enabled: true, interval: 15_000, maxInterval: 15_000, batch: 100, maxAttempts: 0 },
  reaper: { enabled: true, interval: 60_000, maxInterval: 60_000, batch: 1_000, maxAttempts: 0 },
  completer: { enabled: true, interval: 5_000, maxInterval: 5_000, batch: 20, maxAttempts: 10 },
  reconciler: { enabled: true, interval: 10_000, maxInterval: 10_000, batch: 20, maxAttempts: 10 },
  outbox: { enabled: true, interval: 1_000, maxInterval: 5_000, batch: 50, maxAttempts: 0 },
};

/** @param lease the module's, in milliseconds */
export function resolveMaintenance(
  where: string,
  options: false | MaintenanceOptions = {},
  lease = Infinity,
): MaintenanceSettings {
  const settings = structuredClone(DEFAULTS);
  // Even with jitter, a dead attempt is then found within two leases.
  const { sweeper } = settings;
  sweeper.interval = sweeper.maxInterval = Math.min(sweeper.interval, Math.ceil(lease / 2));
  if (options) refuseUnknownNames(where, options, MAINTENANCE_NAMES, 'maintenance.');
  for (const [name, job] of Object.entries(settings)) {
    const given: false | (JobOptions & { maxAttempts?: number }) | undefined =
      options === false ? false : options[name as keyof MaintenanceOptions];
    if (given === false) job.enabled = false;
    if (!given) continue;
    const names = MAINTENANCE_NAMES[name as keyof MaintenanceOptions];
    refuseUnknownNames(where, given, names, `maintenance.${name}.`);
    resolvePace(where, name, job, given);
    for (const field of ['batch', 'maxAttempts'] as const) {
      const value = given[field];
      if (value === undefined) continue;
      if (!Number.isSafeInteger(value) || value < 1) {
        throw new IdempotencyConfigurationError(
          `${where}: maintenance.${name}.${field} is ${String(value)}. Use a whole number from 1.`,
        );
      }
      job[field] = value;
    }
  }
  return settings;
}

function resolvePace(where: string, name: string, job: JobSettings, given: JobOptions): void {
  if (given.interval !== undefined) {
    job.interval = timerMilliseconds(where, `maintenance.${name}.interval`, given.interval);
  }
  if (given.maxInterval === undefined) {
    job.maxInterval = Math.max(job.interval, job.maxInterval);
    return;
  }
  job.maxInterval = timerMilliseconds(where, `maintenance.${name}.maxInterval`, given.maxInterval);
  if (job.maxInterval < job.interval) {
    throw new IdempotencyConfigurationError(
      `${where}: maintenance.${name}.maxInterval (${job.maxInterval} ms) is shorter than interval (${job.interval} ms), from which the pause grows. Lengthen it, or shorten interval.`,
    );
  }
}
