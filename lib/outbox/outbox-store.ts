import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Database } from '../postgres/database.js';
import { lockOrderingKey } from './message-statements.js';

export interface NewMessage {
  /** The scope of the request that adds it; empty outside a request. */
  scope: string;
  id: string;
  /** The key of that request. */
  keyId: string | undefined;
  topic: string;
  /** JSON text. */
  payload: string | undefined;
  orderingKey: string | null;
  delay: number;
  /** The span that adds it. */
  traceparent: string | undefined;
}

/** Adds messages to `idempotency_outbox`. */
@Injectable()
export class OutboxStore {
  private readonly outbox: string;

  constructor(database: Database) {
    this.outbox = database.table('idempotency_outbox');
  }

  /**
   * Runs in the caller's transaction: a rollback removes the message.
   *
   * Transactions that add for one ordering key wait for each other, from here to
   * their end. Otherwise a message with an earlier position could become visible
   * after a later one has been delivered. Without an ordering key the lock is
   * null, so nothing is locked.
   */
  async add(tx: EntityManager, message: NewMessage): Promise<void> {
    await tx.query(
      `WITH locked AS MATERIALIZED (SELECT ${lockOrderingKey('$4::text')}::text)
       INSERT INTO ${this.outbox} (scope, id, topic, payload, ordering_key, available_at, traceparent, key_id)
       SELECT $6::text, $1::uuid, $2::text, $3::json, $4::text, now() + $5::float8 * interval '1 millisecond', $7::text, $8::bigint
       FROM locked`,
      [
        message.id,
        message.topic,
        message.payload ?? null,
        message.orderingKey,
        message.delay,
        message.scope,
        message.traceparent ?? null,
        message.keyId ?? null,
      ],
    );
  }
}
