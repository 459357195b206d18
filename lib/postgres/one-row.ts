/**
 * The end of a statement that must find a row: without one it fails, and with it
 * the transaction. The server decides, so that COMMIT can be sent together with
 * the statement, before its result is known.
 *
 * @param rows the name of the CTE that returns the row
 * @param others CTEs that must return a row as well
 */
export function oneRowOrError(rows: string, ...others: string[]): string {
  if (others.length === 0) return `SELECT 1 / count(*) AS "found" FROM ${rows}`;
  const counts = [rows, ...others].map((each) => `(SELECT count(*) FROM ${each})`);
  return `SELECT 1 / (${counts.join(' * ')}) AS "found"`;
}

/**
 * The end of a statement that returns the rows of a CTE, and fails if it has
 * written them although the fence returned none.
 *
 * @param fence the name of the CTE that must return a row
 * @param rows the name of the one that writes
 */
export function rowsBehind(fence: string, rows: string): string {
  return `SELECT ${rows}.*, 1 / (SELECT count(*) FROM ${fence}) AS "found" FROM ${rows}`;
}
