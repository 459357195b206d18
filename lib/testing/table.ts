import type { CrashSafetyRun } from './crash-safety.js';

const HEADINGS = ['crash at', 'outcome', 'status', 'requests', 'commits', 'calls'];

/** The runs as plain text, one line each. */
export function renderTable(runs: readonly CrashSafetyRun[]): string {
  const rows = [HEADINGS, ...runs.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return [
    line(HEADINGS),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.slice(1).map(line),
  ].join('\n');
}

function cells(run: CrashSafetyRun): string[] {
  return [
    run.crashedAt ?? '(no crash)',
    run.outcome,
    String(run.answer?.status ?? ''),
    String(run.requests),
    list(Object.entries(run.commits)),
    list(
      Object.entries(run.calls).flatMap(([phase, calls]) =>
        calls.map(({ count }) => [phase, count] as const),
      ),
    ),
  ];
}

function list(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([name, count]) => `${name} ×${count}`).join(', ') || '–';
}
