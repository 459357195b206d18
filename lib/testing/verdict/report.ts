import {
  CrashSafetyError,
  type CrashSafetyProblem,
  type CrashSafetyReport,
  type CrashSafetyRun,
} from '../crash-safety.report.js';
import { renderTable } from './runs-table.js';

/** More places of one problem tell nobody more; the report has them all. */
const MOST_PLACES = 4;

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

/** The error to throw, with a message that says it all: test runners print little else. */
export function errorOf(report: CrashSafetyReport): CrashSafetyError {
  const { problems, notes, table } = report;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return new CrashSafetyError(
    [
      `Not crash-safe: ${count}.`,
      ...problems.map((problem, index) => describe(problem, index + 1)),
      ...(notes.length > 0 ? [notes.map((note) => `Note: ${note}`).join('\n')] : []),
      table,
    ].join('\n\n'),
    report,
  );
}

function describe(
  { code, message, at, line, from, cure, docs }: CrashSafetyProblem,
  number: number,
): string {
  const places = at.slice(0, MOST_PLACES).join('; ');
  const more = at.length > MOST_PLACES ? `; and ${at.length - MOST_PLACES} more` : '';
  return [
    `${number}. ${code}: ${message}`,
    ...(line === undefined ? [] : [`   in:   ${[line, ...from].join(', called in ')}`]),
    `   runs: ${places}${more}`,
    `   cure: ${cure}`,
    `   see:  ${docs}`,
  ].join('\n');
}
