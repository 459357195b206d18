import { PhaseUsageError } from '../../policy/phase-errors.js';
import { errorLine } from '../../telemetry/error-line.js';
import type { RunResult } from '../runs/run-result.js';
import type { Finding } from './finding.js';

/** Whether the key came to an end, and how its requests went on the way there. */
export function judgeOutcome(result: RunResult, unknownFails: boolean): Finding[] {
  const { outcome, hung, record, answers } = result;
  if (hung) {
    return [
      {
        code: 'hangs',
        subject: '',
        message: `A request got no answer within the time-out${lastSeen(result)}.`,
        place: record.statements.at(-1)?.place,
      },
    ];
  }
  const failed = failedRetries(result);
  if (failed.length > 0) return failed;
  if (outcome === 'stuck') {
    return [
      {
        code: 'stuck',
        subject: '',
        message: `The key came to no end in ${answers.length} requests; the last answer was ${answers.at(-1)?.status ?? 'none'}.`,
      },
    ];
  }
  if (outcome !== 'unknown' || !unknownFails || isUnknownByRight(result)) return [];
  const [doubtful] = Object.keys(record.effects).filter((phase) => !(phase in record.commits));
  return [
    {
      code: 'unknown_outcome',
      subject: doubtful ?? '',
      message:
        doubtful === undefined
          ? 'The outcome is unknown: the process died before the first phase, and nobody can know what the handler had done by then.'
          : `The outcome is unknown: nobody can know whether the call of phase "${doubtful}" took effect.`,
      place: doubtful === undefined ? undefined : record.phasePlaces.get(doubtful),
    },
  ];
}

/** The other system does not remember its keys for ever. */
function isUnknownByRight({ disturbance }: RunResult): boolean {
  return disturbance.kind === 'crash' && disturbance.next === 'client a day later';
}

/** A server error of an attempt to which nothing was done. */
function failedRetries({ record, answers, disturbance }: RunResult): Finding[] {
  const [number, held] =
    [...record.held].find(
      ([attempt, { answer }]) => answer.status >= 500 && !isDisturbed(disturbance.kind, attempt),
    ) ?? [];
  if (held && number !== undefined) {
    // The guards and the phases have told of it.
    if (held.error instanceof PhaseUsageError) return [];
    const { error } = held;
    return [
      {
        code: number === 1 ? 'stuck' : 'retry_failed',
        subject: errorName(error),
        message: `Attempt ${number} was answered with ${held.answer.status}: ${errorLine(error)}.`,
        ...(error instanceof Error && { place: error }),
      },
    ];
  }
  const last = answers.at(-1);
  return last && last.status >= 500 && answers.length > 1 && record.held.size === 0
    ? [
        {
          code: 'retry_failed',
          subject: String(last.status),
          message: `A retry was answered with ${last.status}.`,
        },
      ]
    : [];
}

/** The attempt that the run is about may well fail. */
function isDisturbed(kind: RunResult['disturbance']['kind'], attempt: number): boolean {
  return attempt === 1 && kind !== 'none' && kind !== 'slow' && kind !== 'redelivery';
}

function errorName(error: unknown): string {
  return error instanceof Error ? `${error.name} ${error.message.slice(0, 60)}` : String(error);
}

function lastSeen({ record }: RunResult): string {
  const last = record.spots.at(-1);
  return last ? `; the last thing seen of it was ${last.name}` : '';
}
