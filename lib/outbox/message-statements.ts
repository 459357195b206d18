import type { ColumnCipher } from '../encryption/column-cipher.js';
import { MESSAGE as SEALED } from '../encryption/columns.js';
import { UnreadableRecordError } from '../encryption/unreadable-record.error.js';
import { milliseconds } from '../postgres/times.js';

/** A message as it was found in the table. */
export interface StoredMessage {
  scope: string;
  id: string;
  topic: string;
  /** JSON text. */
  payload: string | null;
  orderingKey: string | null;
  attempts: number;
  createdAt: Date;
  traceparent: string | null;
  /** Why its payload cannot be read, so that it cannot be delivered. */
  fault?: UnreadableRecordError | undefined;
}

/** With its payload opened. One that cannot be read must not keep the others from being delivered. */
export function openMessage<Row extends StoredMessage>(row: Row, cipher: ColumnCipher): Row {
  try {
    return { ...row, payload: cipher.openJson(row.payload, SEALED.payload, row) ?? null };
  } catch (error) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    return { ...row, payload: null, fault: error };
  }
}

/** In SQL: the columns of a message `m`, as a `StoredMessage`. */
export const MESSAGE = `m.scope, m.id, m.topic, m.payload::text AS payload, m.ordering_key AS "orderingKey",
                 m.attempts, m.traceparent, ${milliseconds('m.created_at')} AS "createdAt"`;

/** In SQL: two rows are the same message. */
export function sameMessage(row: string, other: string): string {
  return `${row}.scope = ${other}.scope AND ${row}.id = ${other}.id`;
}

/** In SQL: waits for the lock of an ordering key, and keeps it until the transaction ends. */
export function lockOrderingKey(orderingKey: string): string {
  return `pg_advisory_xact_lock(hashtextextended('idempotency_outbox ' || ${orderingKey}, 0))`;
}
