import { Logger } from '@nestjs/common';
import { OutcomeUnknownError } from '../policy/phase-errors.js';
import { errorLine } from '../telemetry/error-line.js';
import { publish } from '../telemetry/publish.js';
import type { PhasePlace } from './phase-transactions.js';

const logger = new Logger('AtomicPhase');

/**
 * The call of a foreign phase stays in doubt: marks the attempt, and returns the
 * error to throw.
 *
 * @param repeatable a retry may run the phase again
 * @param error what the call, or recording it, failed with in this attempt
 */
export function leaveInDoubt(place: PhasePlace, repeatable: boolean, error?: unknown): unknown {
  const { journal, attempt, name } = place;
  journal.stopAt(name, 'in_doubt');
  const doubt = error ?? new OutcomeUnknownError(name);
  if (attempt) {
    attempt.doubt = { phase: name, repeatable };
    publish('phase_in_doubt', () => ({
      ...attempt.described,
      phase: name,
      kind: 'foreign',
      repeatable,
    }));
    // The handler may swallow the error, and the client's answer will not show it.
    logger.warn(
      `Phase "${name}" of idempotency key ${attempt.id} is in doubt${repeatable ? ' and will be repeated by a retry' : ''}: ${errorLine(doubt)}`,
    );
  }
  return doubt;
}
