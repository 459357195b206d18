import type { RunRecord } from '../runs/run-record.js';
import type { RunResult } from '../runs/run-result.js';
import { contentOf } from '../world/call-content.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { Comparable, TableBaseline } from '../world/table-baseline.js';
import type { Finding } from './finding.js';
import { effectsOf, subjectOf } from './judge-calls.js';

/** What another system was asked for, once. */
export interface SentEffect extends Comparable {
  call: OutgoingCall;
}

export function contentsOf(record: RunRecord): SentEffect[] {
  return [...effectsOf(record)].flatMap(([to, byKey]) =>
    [...byKey.values()].flatMap(([call]) => {
      const leaves = contentOf(call!);
      return leaves ? [{ table: to, op: call!.by.phase ?? '', leaves, call: call! }] : [];
    }),
  );
}

/** As many calls as without a disturbance have to ask for the same. */
export function judgeContents(
  { record }: RunResult,
  baseline: TableBaseline<SentEffect>,
): Finding[] {
  return baseline.compare(contentsOf(record)).flatMap(({ table, extra, missing }) => {
    const [found] = extra;
    const expected = missing.find(({ op }) => op === found?.op);
    if (!found || !expected) return [];
    const { phase, place } = found.call.by;
    return [
      {
        code: 'calls_differ' as const,
        subject: subjectOf(found.call),
        message: `${table} was asked for something else than without a disturbance.`,
        evidence: `It got ${baseline.describe(found)} instead of ${baseline.describe(expected)}.`,
        place,
        around: record.phasePlaces.get(phase ?? ''),
      },
    ];
  });
}
