// Numbers as a reader wants them.

/** @typedef {import('../statistics.mjs').Summary} Summary */

/**
 * Three digits that matter, and thousands set apart.
 *
 * @param {number} value
 */
export function figure(value) {
  if (!Number.isFinite(value)) return '–';
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString('en-US');
}

/** @param {Summary} summary */
export function withSpread({ median, min, max }) {
  return `${figure(median)} (${figure(min)}–${figure(max)})`;
}

/**
 * A Markdown table. The first column is text, the others are numbers.
 *
 * @param {string[]} head
 * @param {string[][]} rows
 */
export function table(head, rows) {
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
