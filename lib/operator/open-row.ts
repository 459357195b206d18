import type { ColumnCipher, ColumnCiphers } from '../encryption/column-cipher.js';
import { AUDIT, KEY, MESSAGE, PHASE } from '../encryption/columns.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { openAnswer, type StoredAnswer } from '../keys/stored-answer.js';

/** A table with users' data. */
export type TableOfUsers =
  'idempotency_keys' | 'idempotency_phases' | 'idempotency_outbox' | 'idempotency_audit';

/** A row by the properties of its entity, with json columns as text. */
export type StoredRow = Record<string, unknown>;

type Open = (row: Record<string, never>, cipher: ColumnCipher) => Record<string, unknown>;

/** The columns that may be sealed, in the clear. */
const OPEN: Record<TableOfUsers, Open> = {
  idempotency_keys: (row, cipher) => {
    const name = row as unknown as { scope: string; endpoint: string; key: string };
    const answer = openAnswer(cipher, name, answerOf(row));
    return {
      path: cipher.openText(row.path!, KEY.path, name) ?? null,
      request: cipher.openJson(row.request!, KEY.request, name) ?? null,
      input: cipher.openJson(row.input!, KEY.input, name) ?? null,
      responseHeaders: answer ? JSON.stringify(answer.headers) : row.responseHeaders,
      responseBody: answer ? answer.body : row.responseBody,
    };
  },
  idempotency_phases: (row, cipher) => {
    const phase = { keyId: String(row.keyId), name: String(row.name) };
    return {
      request: cipher.openJson(row.request!, PHASE.request, phase) ?? null,
      result: cipher.openJson(row.result!, PHASE.result, phase) ?? null,
    };
  },
  idempotency_outbox: (row, cipher) => {
    const message = { id: String(row.id) };
    return {
      payload: cipher.openJson(row.payload!, MESSAGE.payload, message) ?? null,
      lastError: cipher.openText(row.lastError!, MESSAGE.lastError, message) ?? null,
    };
  },
  idempotency_audit: (row, cipher) => {
    // It is about a scope whose data key is gone, so it was never sealed.
    if (row.action === ('erase' as never)) return {};
    const entry = { keyId: row.keyId!, messageId: row.messageId!, action: row.action! };
    return {
      why: cipher.openText(row.why!, AUDIT.why, entry) ?? null,
      before: cipher.openJson(row.before!, AUDIT.before, entry) ?? null,
      after: cipher.openJson(row.after!, AUDIT.after, entry) ?? null,
    };
  },
};

/** What is left of a row that cannot be read: its scope may have been erased. */
const UNREADABLE: Record<TableOfUsers, Record<string, unknown>> = {
  idempotency_keys: {
    ...{ path: null, request: null, input: null, responseHeaders: null, responseBody: null },
    unreadable: true,
  },
  idempotency_phases: { request: null, result: null, unreadable: true },
  idempotency_outbox: { payload: null, lastError: null, unreadable: true },
  idempotency_audit: { why: null, before: null, after: null, unreadable: true },
};

/**
 * Rows of one scope and table with users' data in the clear, for those who hand it
 * out, such as an export. A row that cannot be read is marked as `unreadable`.
 */
export async function openRows(
  ciphers: ColumnCiphers,
  table: TableOfUsers,
  scope: string,
  rows: readonly StoredRow[],
): Promise<StoredRow[]> {
  const cipherOf = await ciphers.readers([{ scope }]);
  return rows.map((row) => {
    try {
      return { ...row, ...OPEN[table](row as Record<string, never>, cipherOf(scope)) };
    } catch (error) {
      if (!(error instanceof UnreadableRecordError)) throw error;
      return { ...row, ...UNREADABLE[table] };
    }
  });
}

function answerOf(row: Record<string, unknown>): StoredAnswer {
  const headers = row.responseHeaders as string | null;
  return {
    responseStatus: row.responseStatus as number | null,
    responseHeaders: headers === null ? null : (JSON.parse(headers) as never),
    responseBody: row.responseBody as Buffer | null,
    responseVersion: row.responseVersion as number | null,
  };
}
