import { IdempotencyConfigurationError } from '../idempotency.errors.js';
import { milliseconds } from '../idempotency.policy.js';
import type { JobOptions, MaintenanceOptions } from './maintenance.options.js';

export interface JobSettings {
  enabled: boolean;
  interval: number;
  batch: number;
  maxAttempts: number;
}

export type MaintenanceSettings = Record<keyof MaintenanceOptions, JobSettings>;

/** Why these: see maintenance.options.ts and docs/operations.md. */
const DEFAULTS: MaintenanceSettings = {
  sweeper: { enabled: true, interval: 30_000, batch: 100, maxAttempts: 0 },
  reaper: { enabled: true, interval: 60_000, batch: 1_000, maxAttempts: 0 },
  completer: { enabled: true, interval: 5_000, batch: 20, maxAttempts: 10 },
  reconciler: { enabled: true, interval: 10_000, batch: 20, maxAttempts: 10 },
  outbox: { enabled: true, interval: 1_000, batch: 50, maxAttempts: 10 },
};

export function resolveMaintenance(
  where: string,
  options: false | MaintenanceOptions = {},
): MaintenanceSettings {
  const settings = structuredClone(DEFAULTS);
  for (const [name, job] of Object.entries(settings)) {
    const given: false | (JobOptions & { maxAttempts?: number }) | undefined =
      options === false ? false : options[name as keyof MaintenanceOptions];
    if (given === false) job.enabled = false;
    if (!given) continue;
    if (given.interval !== undefined) {
      job.interval = milliseconds(where, `maintenance.${name}.interval`, given.interval);
    }
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
