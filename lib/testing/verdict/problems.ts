import type { CrashSafetyProblem } from '../crash-safety.report.js';
import { CURES, docsOf } from './cures.js';
import type { Finding } from './finding.js';
import { userLines } from './user-line.js';

interface Cause {
  code: Finding['code'];
  message: string;
  evidence: Set<string>;
  at: string[];
  lines: readonly string[];
}

/** More of them tell nobody more. */
const MOST_EVIDENCE = 3;

/** What comes of something else, and is not to be told beside it. */
const CONSEQUENCES: Partial<Record<Finding['code'], Finding['code'][]>> = {
  not_reached: ['phase_misused', 'phases_differ'],
  phase_not_awaited: ['phase_misused'],
  stuck: ['phase_misused', 'retry_failed', 'unknown_outcome'],
  phases_differ: ['phase_misused'],
  error_swallowed: ['call_not_awaited'],
  // One value differs from attempt to attempt: the repeat of the call shows it as well.
  calls_differ: ['request_differs'],
  // What is taken for never sent is sent again.
  effect_key_not_sent: ['doubt_taken_for_no'],
  // A statement that nobody awaits may end inside or outside the transaction of its phase.
  rows_differ: ['phases_differ', 'statement_not_awaited'],
  answer_not_repeatable: ['replay_differs'],
  unhandled_rejection: [
    'phase_not_awaited',
    'phase_misused',
    'work_after_answer',
    'call_not_awaited',
    'statement_not_awaited',
  ],
};

/** Gathers findings by their causes. */
export class Problems {
  private readonly causes = new Map<string, Cause>();

  add(findings: readonly Finding[], disturbance: string): void {
    for (const { code, subject, message, evidence, place, around } of findings) {
      const id = `${code} ${subject}`;
      let cause = this.causes.get(id);
      if (!cause) {
        cause = { code, message, evidence: new Set(), at: [], lines: [] };
        this.causes.set(id, cause);
      }
      if (cause.lines.length === 0) cause.lines = userLines(place);
      if (cause.lines.length === 0) cause.lines = userLines(around);
      if (evidence !== undefined) cause.evidence.add(evidence);
      if (!cause.at.includes(disturbance)) cause.at.push(disturbance);
    }
  }

  get list(): CrashSafetyProblem[] {
    const codes = new Set([...this.causes.values()].map(({ code }) => code));
    const causes = [...this.causes.values()].filter(
      ({ code }) => !CONSEQUENCES[code]?.some((cause) => codes.has(cause)),
    );
    return causes.map(({ code, message, evidence, at, lines }) => ({
      code,
      message: [message, ...[...evidence].slice(0, MOST_EVIDENCE)].join(' '),
      at,
      line: lines[0],
      from: lines.slice(1),
      cure: CURES[code],
      docs: docsOf(code),
    }));
  }
}
