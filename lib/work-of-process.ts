import type { IdempotencySettings } from './idempotency.settings.js';
import type { OperatorPageOptions } from './operator/page/page.options.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import type { Purpose } from './schema/rights-check.js';
import type { Separation } from './schema/separation-check.js';

/** What a process does with the tables, for the checks of its role. */
export interface WorkOfProcess {
  purposes: Purpose[];
  separation: Separation;
}

/**
 * Derives from the options what the role of this process has to be allowed: an
 * API without jobs, a worker and a read-only operator each need something else.
 *
 * @param entry the name of an idempotent route or handler, if there is one
 */
export function workOf(
  { maintenance, readOnly, rowLevelSecurity }: IdempotencySettings,
  entry: string | undefined,
  page: OperatorPageOptions | undefined,
): WorkOfProcess {
  if (readOnly && entry !== undefined) {
    throw new IdempotencyConfigurationError(
      `readOnly: ${entry} has @Idempotent(), and a process that only reads cannot reserve its keys. Remove readOnly, or serve that route in another process.`,
    );
  }
  const jobs = Object.entries(maintenance).flatMap(([name, { enabled }]) =>
    enabled ? [name as keyof typeof maintenance] : [],
  );
  // With nothing else to do it is there for calls: Idempotency.run(), the outbox.
  const serves = !readOnly && (entry !== undefined || (jobs.length === 0 && !page));
  const purposes: Purpose[] = readOnly ? ['reading'] : ['reports', ...jobs];
  if (serves) purposes.push('requests');
  if (page && !readOnly) purposes.push('reading', ...(page.access ? ['decisions' as const] : []));
  return {
    purposes,
    separation: { wanted: rowLevelSecurity, serves, forAllScopes: people(jobs, page) },
  };
}

function people(
  jobs: readonly string[],
  page: OperatorPageOptions | undefined,
): string | undefined {
  if (jobs.length > 0) return 'the jobs';
  return page && 'the operator page';
}
