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
