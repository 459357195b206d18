import type { RunResult } from '../runs/run-result.js';
import type { Finding } from './finding.js';

/**
 * Whether the phases were the same ones, in the same order. That each is committed
 * once, and called under one effect key, is up to the library: no handler can
 * change it.
 */
export function judgePhases(result: RunResult, undisturbed: readonly RunResult[]): Finding[] {
  const { record, outcome } = result;
  const findings: Finding[] = [];
  const expected = undisturbed.map(({ record: { phases } }) => phases.join(' → '));
  const own = record.phases.join(' → ');
  // Where undisturbed runs differ, the way depends on more than the request.
  if (outcome === 'final' && new Set(expected).size === 1 && own !== expected[0]) {
    findings.push({
      code: 'phases_differ',
      subject: '',
      message: 'A disturbed request took another way through its phases.',
      evidence: `It took ${own || 'none'} instead of ${expected[0] || 'none'}.`,
      place: placeOfDifference(result, undisturbed[0]!),
    });
  }
  return [...findings, ...judgeDoubt(result)];
}

/** Where the first phase is that only one of them has. */
function placeOfDifference({ record }: RunResult, { record: other }: RunResult) {
  const added = record.phases.find((phase) => !other.phases.includes(phase));
  if (added !== undefined) return record.phasePlaces.get(added);
  const left = other.phases.find((phase) => !record.phases.includes(phase));
  return other.phasePlaces.get(left ?? '');
}

/** What became of a call that took effect, and whose answer never arrived. */
function judgeDoubt({ disturbance, record, answers }: RunResult): Finding[] {
  if (disturbance.kind === 'crash') return judgeForgottenKey(disturbance.next, record);
  if ((disturbance.kind !== 'lost' && disturbance.kind !== 'failed') || !record.disturbed)
    return [];
  const { phase } = disturbance.at;
  const end = record.phaseEnds.find((each) => each.phase === phase && each.attempt === 1);
  if (phase === undefined || !end) return [];
  const place = record.phasePlaces.get(phase);
  const held = record.held.get(1)?.answer;
  if (end.outcome === 'rejected') {
    return [
      {
        code: 'doubt_taken_for_no',
        subject: phase,
        message: `The call of phase "${phase}" took effect and its answer got lost, but \`call\` threw an HttpException below 500, which says that the other system has refused. The client was answered ${held?.status}, and nobody will look again.`,
        place,
      },
    ];
  }
  if (end.outcome === 'withdrawn') {
    return [
      {
        code: 'doubt_taken_for_no',
        subject: phase,
        message: `The call of phase "${phase}" took effect and its answer got lost, but \`notExecuted\`, or the reconciler, said that it had never reached the other system.`,
        place,
      },
    ];
  }
  const again = record.calls
    .slice(record.calls.indexOf(record.disturbed.call!) + 1, end.calls)
    .some((call) => call.by.phase === phase && call.answered);
  // Where `call` threw, a reconciler has found out what became of it.
  const madeUp = !again && !record.failedCalls.has(phase);
  if (end.outcome === 'finished' && record.disturbed.call && madeUp) {
    return [
      {
        code: 'error_swallowed',
        subject: phase,
        message: `The answer of the call of phase "${phase}" got lost, and \`call\` returned a value all the same: it is on record now as if the other system had said so.`,
        place,
      },
    ];
  }
  const first = answers[0];
  if (end.outcome === 'in_doubt' && held && held.status < 500 && first) {
    return [
      {
        code: 'error_swallowed',
        subject: phase,
        message: `Phase "${phase}" failed, and the handler went on and answered ${held.status}. The library held that answer back and sent ${first.status} instead.`,
        place,
      },
    ];
  }
  return [];
}

function judgeForgottenKey(
  next: 'client' | 'worker' | 'client a day later',
  record: RunResult['record'],
): Finding[] {
  if (next !== 'client a day later') return [];
  return Object.entries(record.effects)
    .filter(([, effects]) => effects.some(({ count }) => count > 1))
    .map(([phase]) => ({
      code: 'effect_key_may_be_forgotten' as const,
      subject: phase,
      message: `25 hours after a crash, the call of phase "${phase}" was made again under the same effect key. Most systems forget a key after a day, and would act again.`,
      place: record.phasePlaces.get(phase),
    }));
}
