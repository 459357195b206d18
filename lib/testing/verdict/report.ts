import type {
  CrashSafetyProblem,
  CrashSafetyReport,
  CrashSafetyRun,
} from '../crash-safety.report.js';
import { renderTable } from './runs-table.js';

export function reportOf(
  runs: CrashSafetyRun[],
  problems: CrashSafetyProblem[],
  notes: string[],
  skipped: string[],
): CrashSafetyReport {
  return {
    safe: problems.length === 0,
    runs,
    problems,
    notes,
    skipped,
    table: renderTable(runs),
    toJSON: () => ({
      safe: problems.length === 0,
      problems,
      notes,
      skipped,
      runs: runs.map(({ answer, ...run }) => ({
        ...run,
        answer: answer && { ...answer, body: answer.body.toString() },
      })),
    }),
  };
}
