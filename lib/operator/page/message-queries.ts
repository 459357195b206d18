import { Injectable } from '@nestjs/common';
import { ColumnCiphers } from '../../encryption/column-cipher.js';
import { MESSAGE as SEALED } from '../../encryption/columns.js';
import { shown } from '../../encryption/shown.js';
import { MESSAGE, type StoredMessage } from '../../outbox/message-statements.js';
import { Database } from '../../postgres/database.js';
import { milliseconds, withDates } from '../../postgres/times.js';
import { fromJson } from '../../schema/json.js';

/** A message of the outbox, whether it waits or is a dead letter. */
export interface MessageReport extends Omit<StoredMessage, 'payload' | 'traceparent' | 'fault'> {
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

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
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
    const cipher = (await this.ciphers.readers([row]))(scope);
    return {
      ...message,
      payload: shown(() => fromJson(cipher.openJson(row.payload, SEALED.payload, row))),
      lastError: shown(() => cipher.openText(row.lastError, SEALED.lastError, row) ?? null),
    };
  }
}
