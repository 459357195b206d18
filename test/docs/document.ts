import { textOf } from '../checks/docs/pages.mjs';

/** The rows of the Markdown table with this heading in its first cell, without backticks. */
export function tableOf(page: string, firstHeading: string): string[][] {
  const lines = textOf(`docs/${page}`).split('\n');
  const start = lines.findIndex((line) => cells(line)[0] === firstHeading);
  if (start < 0) throw new Error(`${page} has no table that begins with "${firstHeading}".`);
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'));
  return lines.slice(start + 2, end < 0 ? undefined : end).map(cells);
}

/** The first cell of each row. */
export function firstCells(page: string, firstHeading: string): string[] {
  return tableOf(page, firstHeading).map(([first]) => first!);
}

/** Rows as one line each, in an order that does not depend on the page. */
export function sorted(rows: readonly (readonly unknown[])[]): string[] {
  return rows.map((row) => row.map(String).join(' | ')).toSorted();
}

function cells(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', '').replaceAll('\\|', '|'));
}
