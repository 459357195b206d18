import { Logger } from '@nestjs/common';
import { BurstLog } from '../telemetry/burst-log.js';
import { errorLine } from '../telemetry/error-line.js';
import { parseDuration, type Duration } from './duration.js';
import type { Outcome } from './policy.js';

/** A century. Much longer times do not fit into a JavaScript date, or into PostgreSQL's. */
export const LONGEST_RETENTION = 36_525 * 86_400_000;

/** The retention of a final answer, in milliseconds; null is for ever. */
export type RetentionOf = (outcome: Outcome) => number | null;

/**
 * A `retention` that is a function of the answer. The work is done by then, so
 * nothing may fail any more: where the function throws or returns nonsense, the
 * key is kept as long as it would be without it.
 *
 * @param where names the route in the log
 * @param otherwise the retention without the function
 */
export function retentionByAnswer(
  where: string,
  given: (outcome: Outcome) => Duration | 'forever',
  otherwise: number | null,
): RetentionOf {
  const log = new BurstLog((line) => new Logger('IdempotencyModule').error(line));
  const keptAnyway = (what: string): number | null => {
    const how = otherwise === null ? 'for ever' : `for ${otherwise} ms`;
    log.note(where, () => `${where}: retention ${what}, so a key is kept ${how}.`);
    return otherwise;
  };
  return (outcome) => {
    let retention: unknown;
    try {
      retention = given(outcome);
    } catch (error) {
      return keptAnyway(`failed (${errorLine(error)})`);
    }
    if (retention === 'forever') return null;
    const milliseconds = parseDuration(retention as Duration) ?? 0;
    // An answer that is forgotten at once would not be final.
    return milliseconds > 0 && milliseconds <= LONGEST_RETENTION
      ? milliseconds
      : keptAnyway(
          // Not the value, which may be one of the user's.
          `returned a ${typeof retention} that is neither a time such as '1h' nor 'forever', for an answer with status ${outcome.status}`,
        );
  };
}
