import type { OutgoingTally } from '../crash-safety.report.js';
import type { RunRecord } from '../runs/run-record.js';
import type { RunResult } from '../runs/run-result.js';
import type { OutgoingCall } from '../world/outgoing-call.js';
import type { ProblemCode } from './cures.js';
import type { Finding } from './finding.js';

/** Whether other systems were asked to do as much as in an undisturbed run, and in the same words. */
export function judgeCalls(result: RunResult, undisturbed: readonly RunResult[]): Finding[] {
  const own = effectsOf(result.record);
  const expected = undisturbed.map(({ record }) => effectsOf(record));
  const destinations = new Set([...own.keys(), ...expected.flatMap((each) => [...each.keys()])]);
  const findings: Finding[] = [];
  for (const to of destinations) {
    const count = own.get(to)?.size ?? 0;
    const counts = expected.map((each) => each.get(to)?.size ?? 0);
    if (count > Math.max(...counts)) {
      findings.push(repeated(to, count, counts.at(-1)!, [...own.get(to)!.values()].flat(), result));
    } else if (count < Math.min(...counts) && result.outcome === 'final') {
      const calls = [...(expected.at(-1)!.get(to)?.values() ?? [])].flat();
      findings.push(missing(to, count, counts.at(-1)!, calls));
    }
  }
  return [...findings, ...judgeRequests(own)];
}

function repeated(
  to: string,
  count: number,
  expected: number,
  calls: OutgoingCall[],
  { record }: RunResult,
): Finding {
  const culprit = calls.find((call) => codeOf(call) !== undefined);
  const keyless = calls.find((call) => !isUnderKey(call, record));
  const call = culprit ?? keyless ?? calls[0]!;
  const { phase, place } = call.by;
  const code =
    codeOf(call) ?? (phase !== undefined && keyless ? 'effect_key_not_sent' : 'calls_differ');
  return {
    code,
    subject: code === 'effect_key_not_sent' ? phase! : subjectOf(call),
    message:
      code === 'effect_key_not_sent'
        ? `The call of phase "${phase}" (${to}) was repeated without the effect key, so the other system cannot know that it is the same one.`
        : `${to} was called from a place that no phase protects.`,
    evidence: `${to}: ${count} effects instead of ${expected}.`,
    place: place ?? (phase === undefined ? undefined : record.phasePlaces.get(phase)),
  };
}

function missing(to: string, count: number, expected: number, calls: OutgoingCall[]): Finding {
  const call = calls.find((each) => codeOf(each) !== undefined) ?? calls[0]!;
  return {
    code: codeOf(call) ?? 'calls_differ',
    subject: subjectOf(call),
    message: `${to} was called less often than without a disturbance.`,
    evidence: `${to}: ${count} effects instead of ${expected}.`,
    place: call.by.place,
  };
}

/** A repeat under a key has to say the same again. */
function judgeRequests(effects: ReturnType<typeof effectsOf>): Finding[] {
  return [...effects].flatMap(([to, byKey]) =>
    [...byKey.values()].flatMap((calls) => {
      const [first, ...others] = calls;
      const other = others.find((call) => call.digest !== first!.digest);
      if (!first || !other || first.kind === 'socket') return [];
      return [
        {
          code: 'request_differs' as const,
          subject: first.by.phase ?? to,
          message: `${to} got two different requests under one effect key.`,
          evidence: difference(first.text, other.text),
          place: other.by.place,
        },
      ];
    }),
  );
}

/** What the other systems were asked to do: calls under one key are one effect. By destination and key. */
export function effectsOf(record: RunRecord): Map<string, Map<string, OutgoingCall[]>> {
  const effects = new Map<string, Map<string, OutgoingCall[]>>();
  for (const [index, call] of record.calls.entries()) {
    if (!call.sent || call.safe || IGNORED.has(call.by.where)) continue;
    const byKey = effects.get(call.to) ?? new Map<string, OutgoingCall[]>();
    effects.set(call.to, byKey);
    const id = keyOf(call, record) ?? `call ${index}`;
    byKey.set(id, [...(byKey.get(id) ?? []), call]);
  }
  return effects;
}

const IGNORED: ReadonlySet<string> = new Set(['unprotected', 'library', 'delivery']);

/** The key under which the other system can tell that two calls are one. */
function keyOf(call: OutgoingCall, record: RunRecord): string | undefined {
  const keys = [
    ...Object.values(record.effects)
      .flat()
      .map(({ effectKey }) => effectKey),
    record.key,
  ];
  return call.keyHeader ?? keys.find((key) => call.carries(key));
}

function isUnderKey(call: OutgoingCall, record: RunRecord): boolean {
  return record.effectKeysOf(call.by.phase).some((key) => call.carries(key));
}

/** All calls of a phase are one and the same under its effect key: a client tries again by itself. */
export function isRepeated(record: RunRecord, phase: string | undefined): boolean {
  const calls = record.calls.filter(({ by }) => by.phase === phase);
  return (
    calls.every((call) => isUnderKey(call, record)) &&
    new Set(calls.map(({ digest }) => digest)).size === 1
  );
}

/** The mistake that a call is by itself, whatever it leads to. */
export function codeOf(call: OutgoingCall): ProblemCode | undefined {
  if (call.safe) return undefined;
  switch (call.by.where) {
    case 'outside':
      return 'call_outside_phase';
    case 'transaction':
      return 'call_in_transaction';
    case 'after_answer':
      return 'work_after_answer';
    default:
      return undefined;
  }
}

/** Without scheme and port, as the guard names it as well. */
export function subjectOf({
  method = '',
  origin,
}: Pick<OutgoingCall, 'method' | 'origin'>): string {
  return `${method} ${origin.replace(/^\w+:\/\//, '').replace(/:\d+$/, '')}`.trim();
}

const LENGTH = /^content-length:/i;

function difference(one: string, other: string): string {
  const lines = one.split('\r\n');
  const others = other.split('\r\n');
  // Of two bodies, the length is the least that differs.
  const differs = (line: string, at: number) => line !== others[at];
  const telling = lines.findIndex((line, at) => differs(line, at) && !LENGTH.test(line));
  const index = telling < 0 ? lines.findIndex(differs) : telling;
  const short = (line = '') => (line.length > 120 ? `${line.slice(0, 119)}…` : line);
  return `First: ${short(lines[index])} Then: ${short(others[index])}`;
}

/** For the report. */
export function outgoingOf(record: RunRecord): OutgoingTally[] {
  const tallies = new Map<string, OutgoingTally>();
  for (const call of record.calls) {
    if (!call.sent || call.by.where === 'library' || call.by.where === 'delivery') continue;
    const { phase } = call.by;
    const id = `${call.to} ${phase}`;
    const tally = tallies.get(id) ?? { to: call.to, phase, count: 0, effectKey: true };
    tally.count += 1;
    tally.effectKey &&= isUnderKey(call, record);
    tallies.set(id, tally);
  }
  return [...tallies.values()];
}
