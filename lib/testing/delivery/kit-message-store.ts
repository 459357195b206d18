import type { ColumnCiphers } from '../../encryption/column-cipher.js';
import type { Database } from '../../postgres/database.js';
import { withDates } from '../../postgres/times.js';
import { MESSAGE, openMessage, type StoredMessage } from '../../outbox/message-statements.js';

/** The kit's own statements on the outbox: it chooses by id, and waits for no pause and no lease. */
export class KitMessageStore {
  private readonly outbox: string;

  constructor(
    private readonly database: Database,
    private readonly ciphers: ColumnCiphers,
  ) {
    this.outbox = database.table('idempotency_outbox');
  }

  /** Messages that are there now. */
  async all(): Promise<StoredMessage[]> {
    const rows = await this.database.query<StoredMessage>(
      `SELECT ${MESSAGE} FROM ${this.outbox} m ORDER BY m.position`,
      [],
    );
    return rows.map((row) => withDates(row, 'createdAt'));
  }

  /** Whoever had the message before has lost it. Undefined: it is delivered. */
  async claim(id: string, token: string, lease: number): Promise<StoredMessage | undefined> {
    const [row] = await this.database.query<StoredMessage>(
      `UPDATE ${this.outbox} m
       SET lease_token = $2, attempts = m.attempts + 1, dead_at = NULL,
           available_at = now() + $3::float8 * interval '1 millisecond'
       WHERE m.id = $1
       RETURNING ${MESSAGE}`,
      [id, token, lease],
    );
    if (!row) return undefined;
    const cipherOf = await this.ciphers.readers([row]);
    return openMessage(withDates(row, 'createdAt'), cipherOf(row.scope));
  }

  /** What a run left behind is nobody else's business. */
  async remove(ids: readonly string[]): Promise<void> {
    await this.database.query(`DELETE FROM ${this.outbox} WHERE id = ANY ($1::uuid[])`, [ids]);
  }
}
