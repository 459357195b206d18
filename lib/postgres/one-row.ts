/**
 * The end of a statement that must find a row: without one it fails, and with it
 * the transaction. The server decides, so that COMMIT can be sent together with
 * the statement, before its result is known.
 *
 * @param rows the name of the CTE that returns the row
 */
export function oneRowOrError(rows: string): string {
  return `SELECT 1 / count(*) AS "found" FROM ${rows}`;
}
