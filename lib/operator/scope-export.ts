import { SECTIONS, type ExportedRow, type ExportQueries, type Section } from './export-queries.js';

/** The version of the lines. A reader refuses one that it does not know. */
const VERSION = 1;

/** How many lines of each type an export has. */
type Counts = Record<Section['type'], number>;

/**
 * Everything that is stored of one scope, as JSON Lines: a first line, one line
 * for each row, and a last line with their numbers, without which the export is
 * not complete. It is read page by page, so it is not one moment of the database:
 * what changes meanwhile appears as it was when its page was read.
 */
export async function* exportedLines(
  queries: ExportQueries,
  scope: string,
): AsyncGenerator<string, void, undefined> {
  yield line({ type: 'export', version: VERSION, scope, at: new Date() });
  const counts: Counts = { key: 0, phase: 0, message: 0, audit: 0 };
  for (const section of SECTIONS) {
    for await (const rows of queries.pages(section, scope)) {
      for (const row of rows) yield line({ type: section.type, ...written(row) });
      counts[section.type] += rows.length;
    }
  }
  yield line({ type: 'end', counts });
}

/** JSON writes dates as ISO 8601 by itself. */
function written(row: ExportedRow): ExportedRow {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ]);
  return Object.fromEntries(entries) as ExportedRow;
}

function line(record: object): string {
  return `${JSON.stringify(record)}\n`;
}
