import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ColumnCiphers, type ColumnCipher } from '../encryption/column-cipher.js';
import { MESSAGE } from '../encryption/columns.js';
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
  /** Of that request's scope; undefined outside a request. */
  cipher: ColumnCipher | undefined;
}

/** Adds messages to `idempotency_outbox`. */
@Injectable()
export class OutboxStore {
  private readonly outbox: string;
  private readonly distributed: boolean;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.distributed = database.distributed;
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
    await this.database.enter(tx.queryRunner!, [message.scope]);
    const cipher = message.cipher ?? (await this.ciphers.of(message.scope));
    if (this.distributed && message.orderingKey !== null) {
      await tx.query(`SELECT ${lockOrderingKey('$1::text')}`, [message.orderingKey]);
    }
    await tx.query(this.distributed ? this.insert(VALUES) : this.insert(LOCKED), [
      message.id,
      message.topic,
      cipher.json(message.payload, MESSAGE.payload, message),
      message.orderingKey,
      message.delay,
      message.scope,
      message.traceparent ?? null,
      message.keyId ?? null,
    ]);
  }

  private insert([before, first, last]: readonly [string, string, string]): string {
    return `${before}
      INSERT INTO ${this.outbox} (scope, id, topic, payload, ordering_key, available_at, traceparent, key_id)
      ${first} $6::text, $1::uuid, $2::text, $3::json, $4::text, now() + $5::float8 * interval '1 millisecond', $7::text, $8::bigint
      ${last}`;
  }
}

/** The lock and the message in one statement. */
const LOCKED = [
  `WITH locked AS MATERIALIZED (SELECT ${lockOrderingKey('$4::text')}::text)`,
  'SELECT',
  'FROM locked',
] as const;

/**
 * On distributed tables the lock is taken before, on the coordinator. A plain row
 * goes straight to the node of its scope, and the transaction stays on that node.
 */
const VALUES = ['', 'VALUES (', ')'] as const;
