import type { ColumnCipher, ColumnCiphers } from '../encryption/column-cipher.js';
import { AUDIT, KEY, MESSAGE, PHASE } from '../encryption/columns.js';
import { openAnswer, type StoredAnswer } from '../keys/stored-answer.js';

/** A table with users' data. */
export type TableOfUsers =
  'idempotency_keys' | 'idempotency_phases' | 'idempotency_outbox' | 'idempotency_audit';

/** A row by the names of its columns, with json columns as text. */
export type StoredRow = Record<string, unknown> & { scope: string };

type Open = (row: Record<string, never>, cipher: ColumnCipher) => Record<string, unknown>;

const OPEN: Record<TableOfUsers, Open> = {
  idempotency_keys: (row, cipher) => {
    const name = row as unknown as { scope: string; endpoint: string; key: string };
    const answer = openAnswer(cipher, name, answerOf(row));
    return {
      path: cipher.openText(row.path!, KEY.path, name) ?? null,
      request: cipher.openJson(row.request!, KEY.request, name) ?? null,
      input: cipher.openJson(row.input!, KEY.input, name) ?? null,
      ...(answer && { response_headers: answer.headers, response_body: answer.body }),
    };
  },
  idempotency_phases: (row, cipher) => {
    const phase = { keyId: String(row.key_id), name: String(row.name) };
    return {
      request: cipher.openJson(row.request!, PHASE.request, phase) ?? null,
      result: cipher.openJson(row.result!, PHASE.result, phase) ?? null,
    };
  },
  idempotency_outbox: (row, cipher) => {
    const message = { id: String(row.id) };
    return {
      payload: cipher.openJson(row.payload!, MESSAGE.payload, message) ?? null,
      last_error: cipher.openText(row.last_error!, MESSAGE.lastError, message) ?? null,
    };
  },
  idempotency_audit: (row, cipher) => {
    // It is about a scope whose data key is gone, so it was never sealed.
    if (row.action === ('erase' as never)) return {};
    const entry = { keyId: row.key_id!, messageId: row.message_id!, action: row.action! };
    return {
      why: cipher.openText(row.why!, AUDIT.why, entry) ?? null,
      before: cipher.openJson(row.before!, AUDIT.before, entry) ?? null,
      after: cipher.openJson(row.after!, AUDIT.after, entry) ?? null,
    };
  },
};

/**
 * Rows of one table with users' data in the clear, for those who hand it out, such
 * as an export. Throws an UnreadableRecordError if one cannot be read.
 */
export async function openRows(
  ciphers: ColumnCiphers,
  table: TableOfUsers,
  rows: readonly StoredRow[],
): Promise<StoredRow[]> {
  const cipherOf = await ciphers.readers(rows);
  return rows.map((row) => ({
    ...row,
    ...OPEN[table](row as unknown as Record<string, never>, cipherOf(row.scope)),
  }));
}

function answerOf(row: Record<string, unknown>): StoredAnswer {
  return {
    responseStatus: row.response_status as number | null,
    responseHeaders: row.response_headers as StoredAnswer['responseHeaders'],
    responseBody: row.response_body as Buffer | null,
    responseVersion: row.response_version as number | null,
  };
}
