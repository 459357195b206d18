import type { CrashSafetyProblem } from '../crash-safety.report.js';
import { CURES, docsOf } from './cures.js';
import type { Finding } from './finding.js';
import { userLine } from './user-line.js';

interface Cause {
  code: Finding['code'];
  message: string;
  evidence: Set<string>;
  at: string[];
  line: string | undefined;
}

/** More of them tell nobody more. */
const MOST_EVIDENCE = 3;

/** What comes of something else, and is not to be told beside it. */
const CONSEQUENCES: Partial<Record<Finding['code'], Finding['code'][]>> = {
  not_reached: ['phase_misused', 'phases_differ'],
  stuck: ['phase_misused', 'retry_failed', 'unknown_outcome'],
  phases_differ: ['phase_misused'],
  unhandled_rejection: ['phase_not_awaited', 'phase_misused', 'work_after_answer'],
};

/** Gathers findings by their causes. */
export class Problems {
  private readonly causes = new Map<string, Cause>();

  add(findings: readonly Finding[], disturbance: string): void {
    for (const { code, subject, message, evidence, place } of findings) {
      const id = `${code} ${subject}`;
      let cause = this.causes.get(id);
      if (!cause) {
        cause = { code, message, evidence: new Set(), at: [], line: undefined };
        this.causes.set(id, cause);
      }
      cause.line ??= userLine(place);
      if (evidence !== undefined) cause.evidence.add(evidence);
      if (!cause.at.includes(disturbance)) cause.at.push(disturbance);
    }
  }

  get list(): CrashSafetyProblem[] {
    const codes = new Set([...this.causes.values()].map(({ code }) => code));
    const causes = [...this.causes.values()].filter(
      ({ code }) => !CONSEQUENCES[code]?.some((cause) => codes.has(cause)),
    );
    return causes.map(({ code, message, evidence, at, line }) => ({
      code,
      message: [message, ...[...evidence].slice(0, MOST_EVIDENCE)].join(' '),
      at,
      line,
      cure: CURES[code],
      docs: docsOf(code),
    }));
  }
}
