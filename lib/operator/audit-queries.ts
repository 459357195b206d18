import { Injectable } from '@nestjs/common';
import { ColumnCiphers, type ColumnCipher } from '../encryption/column-cipher.js';
import { AUDIT } from '../encryption/columns.js';
import { shown } from '../encryption/shown.js';
import { Database } from '../postgres/database.js';
import { milliseconds, withDates } from '../postgres/times.js';
import { fromJson } from '../schema/json.js';
import type { AuditEntry } from './key-report.js';

/** What was decided about one key or one message, oldest first. Each read follows an index. */
@Injectable()
export class AuditQueries {
  private readonly audit: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
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
    const entries = await this.database.query<AuditRow>(
      `SELECT id, key_id AS "keyId", effect_key AS "effectKey", message_id AS "messageId", action, who, why,
              before::text AS before, after::text AS after,
              ${milliseconds('at')} AS at
       FROM ${this.audit} WHERE scope = $1 AND ${condition} ORDER BY id`,
      [scope, id],
    );
    const cipherOf = await this.ciphers.readers([{ scope }]);
    return entries.map((entry) => openEntry(withDates(entry, 'at'), cipherOf(scope)));
  }
}

interface AuditRow extends AuditEntry {
  keyId: string | null;
  before: string | null;
  after: string | null;
}

/** With its details opened, each by itself. */
export function openEntry({ keyId, ...entry }: AuditRow, cipher: ColumnCipher): AuditEntry {
  const { messageId, action, why, before, after } = entry;
  // It is about the scope itself, whose data key is gone.
  if (action === 'erase') {
    return { ...entry, before: fromJson(before ?? undefined), after: null };
  }
  const row = { keyId, messageId, action };
  return {
    ...entry,
    why: shown(() => cipher.openText(why, AUDIT.why, row) ?? null),
    before: shown(() => fromJson(cipher.openJson(before, AUDIT.before, row)) ?? null),
    after: shown(() => fromJson(cipher.openJson(after, AUDIT.after, row)) ?? null),
  };
}
