import { Injectable } from '@nestjs/common';
import { MESSAGE, type StoredMessage } from '../../outbox/message-statements.js';
import { Database } from '../../postgres/database.js';
import { milliseconds, withDates } from '../../postgres/times.js';
import { fromJson } from '../../schema/json.js';

/** A message of the outbox, whether it waits or is a dead letter. */
export interface MessageReport extends Omit<StoredMessage, 'payload' | 'traceparent'> {
  payload: unknown;
  keyId: string | null;
  lastError: string | null;
  availableAt: Date;
  deadAt: Date | null;
}

/** The page of one message, by the primary key. */
@Injectable()
export class MessageQueries {
  private readonly outbox: string;

  constructor(private readonly database: Database) {
    this.outbox = database.table('idempotency_outbox');
  }

  /** Undefined: it was delivered, or never added. */
  async inspect(scope: string, id: string): Promise<MessageReport | undefined> {
    const [row] = await this.database.query<MessageReport & StoredMessage>(
      `SELECT ${MESSAGE}, m.key_id AS "keyId", m.last_error AS "lastError",
              ${milliseconds('m.available_at')} AS "availableAt", ${milliseconds('m.dead_at')} AS "deadAt"
       FROM ${this.outbox} m
       WHERE m.scope = $1 AND m.id = $2`,
      [scope, id],
    );
    if (!row) return undefined;
    const message = withDates(row, 'createdAt', 'availableAt', 'deadAt');
    return { ...message, payload: fromJson(row.payload ?? undefined) };
  }
}
