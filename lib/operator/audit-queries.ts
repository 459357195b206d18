import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import type { AuditEntry } from './key-report.js';

/** What was decided about one key or one message, oldest first. Each read follows an index. */
@Injectable()
export class AuditQueries {
  private readonly audit: string;

  constructor(private readonly database: Database) {
    this.audit = database.table('idempotency_audit');
  }

  /** The decisions about a key, and about the messages that its request added. */
  ofKey({ scope, id }: { scope: string; id: string }): Promise<AuditEntry[]> {
    return this.select('key_id = $2', scope, id);
  }

  ofMessage({ scope, id }: { scope: string; id: string }): Promise<AuditEntry[]> {
    return this.select('message_id = $2', scope, id);
  }

  private async select(condition: string, scope: string, id: string): Promise<AuditEntry[]> {
    const entries = await this.database.query<AuditEntry>(
      `SELECT id, effect_key AS "effectKey", message_id AS "messageId", action, who, why, before, after,
              ${milliseconds('at')} AS at
       FROM ${this.audit} WHERE scope = $1 AND ${condition} ORDER BY id`,
      [scope, id],
    );
    return entries.map((entry) => withDates(entry, 'at'));
  }
}
