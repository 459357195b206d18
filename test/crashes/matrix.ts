import type { Traces } from './rides.js';

/** What became of one ride whose process was killed. */
export interface MatrixRow {
  platform: string;
  killedAt: string;
  /** The recovery point that the dead process left. */
  left: string;
  leftCharges: number;
  /** What the retry got. */
  status: number;
  outcome: string;
  /** What there is after the retry. */
  traces: Traces;
  /** The answer to a further retry is the same, byte for byte. */
  sameAnswer: boolean;
}

const HEADINGS = [
  'adapter',
  'killed at',
  'left at',
  'charged',
  'retry',
  'outcome',
  'charges',
  'rides',
  'audits',
  'receipts',
  'replay',
];

/** The whole table in one piece, so that nothing else is printed into it. */
export function printMatrix(rows: readonly MatrixRow[]): void {
  const table = [HEADINGS, ...rows.map(cells)];
  const widths = HEADINGS.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  process.stdout.write(`\nRocket Rides, killed with SIGKILL:\n${lines.join('\n')}\n\n`);
}

function cells(row: MatrixRow): string[] {
  const { charges, rides, auditRecords, receipts } = row.traces;
  return [
    row.platform,
    row.killedAt,
    row.left,
    row.leftCharges === 0 ? 'no' : 'yes',
    String(row.status),
    row.outcome,
    ...[charges, rides, auditRecords, receipts].map(String),
    row.sameAnswer ? 'equal' : 'DIFFERS',
  ];
}
