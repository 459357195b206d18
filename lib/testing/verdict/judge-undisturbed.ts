import { PhaseUsageError } from '../../policy/phase-errors.js';
import { errorLine } from '../../telemetry/error-line.js';
import type { CrashSafetyOptions } from '../crash-safety.options.js';
import type { RunResult } from '../runs/run-result.js';
import type { Finding } from './finding.js';

/** Whether the endpoint works at all. If not, there is nothing to compare disturbed runs with. */
export function judgeUndisturbed(
  result: RunResult,
  { expectStatus }: Pick<CrashSafetyOptions, 'expectStatus'>,
): Finding[] {
  const { answer, hung, unseen, outcome, record, answers } = result;
  if (hung) {
    return [
      {
        code: 'hangs',
        subject: '',
        message: 'The undisturbed request got no answer within the time-out.',
        place: record.statements.at(-1)?.place,
      },
    ];
  }
  const status = answer?.status ?? 0;
  const right = expectStatus === undefined ? status < 400 : status === expectStatus;
  if (!right) {
    const failure = [...record.held.values()].find(({ error }) => error !== undefined);
    // The phase has said what is wrong.
    if (failure?.error instanceof PhaseUsageError) return [];
    const said = answer?.body.toString().slice(0, 200);
    return [
      {
        code: 'not_a_success',
        subject: '',
        message:
          `The undisturbed request was answered with ${status}${expectStatus === undefined ? '' : ` instead of ${expectStatus}`}: ${said}` +
          (failure && failure.answer.status >= 500 ? ` (${errorLine(failure.error)})` : ''),
        ...(failure?.error instanceof Error && { place: failure.error }),
      },
    ];
  }
  if (unseen) {
    return [
      {
        code: 'not_idempotent',
        subject: '',
        message: `The request was answered with ${status}, but nobody reserved its key: the route is not idempotent.`,
      },
    ];
  }
  if (outcome !== 'final') {
    return [
      {
        code: outcome === 'unknown' ? 'unknown_outcome' : 'stuck',
        subject: '',
        message: `The undisturbed request came to no final answer in ${answers.length} requests; the last one was ${status}.`,
      },
    ];
  }
  return [];
}
