import type { CrashSafetyRun } from '../crash-safety.report.js';
import { textTable } from '../text-table.js';

const HEADINGS = ['run', 'outcome', 'status', 'requests', 'commits', 'rows', 'calls', 'problems'];

/** The runs as plain text, one line each. */
export function renderTable(runs: readonly CrashSafetyRun[]): string {
  return textTable(HEADINGS, runs.map(cells));
}

function cells(run: CrashSafetyRun): string[] {
  const rows = Object.entries(run.changes).flatMap(([table, { inserted, updated, deleted }]) => {
    const parts = [
      inserted > 0 && `+${inserted}`,
      updated > 0 && `~${updated}`,
      deleted > 0 && `-${deleted}`,
    ];
    return `${table} ${parts.filter(Boolean).join(' ')}`;
  });
  const calls =
    run.outgoing.length > 0
      ? run.outgoing.map(({ to, count }) => `${to} ×${count}`)
      : Object.entries(run.calls).flatMap(([phase, effects]) =>
          effects.map(({ count }) => `${phase} ×${count}`),
        );
  return [
    run.disturbance,
    run.outcome,
    String(run.answer?.status ?? ''),
    String(run.requests),
    list(Object.entries(run.commits).map(([name, count]) => `${name} ×${count}`)),
    list(rows),
    list(calls),
    list(run.problems),
  ];
}

function list(parts: readonly string[]): string {
  return parts.join(', ') || '–';
}
