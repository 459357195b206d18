import type { Database } from '../postgres/database.js';

/** A data key as it is stored. */
export interface WrappedDataKey {
  scope: string;
  id: string;
  masterKey: string;
  wrapped: Buffer;
}

const COLUMNS = 'd.scope, d.id, d.master_key AS "masterKey", d.wrapped';

/** The statements on `idempotency_data_keys`. They are small, and requests wait for them. */
export class DataKeyStore {
  private readonly dataKeys: string;

  constructor(private readonly database: Database) {
    this.dataKeys = database.table('idempotency_data_keys');
  }

  /** Those of these scopes that exist. */
  find(scopes: readonly string[]): Promise<WrappedDataKey[]> {
    return this.database
      .for(scopes.map((scope) => ({ scope })))
      .query(
        `SELECT ${COLUMNS} FROM ${this.dataKeys} d WHERE d.scope = ANY ($1::text[])`,
        [scopes],
        'urgent',
      );
  }

  /**
   * Adds data keys, unless another process was first: then that one's is the
   * scope's, and has to be read with another statement, which sees it.
   */
  async add(keys: readonly WrappedDataKey[]): Promise<void> {
    // In the order of the scopes, so that two processes cannot deadlock.
    const sorted = keys.toSorted((a, b) => (a.scope < b.scope ? -1 : 1));
    await this.database.for(keys).query(
      `INSERT INTO ${this.dataKeys} (scope, id, master_key, wrapped)
       SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::bytea[])
       ON CONFLICT (scope) DO NOTHING`,
      [
        sorted.map(({ scope }) => scope),
        sorted.map(({ id }) => id),
        sorted.map(({ masterKey }) => masterKey),
        sorted.map(({ wrapped }) => wrapped),
      ],
      'urgent',
    );
  }

  /**
   * Which master keys are in use, from the index alone: one step for each, however many rows it has.
   * Each step is a statement, because distributed tables take no recursive one for all scopes.
   */
  async masterKeys(): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const [row] = await this.database.query<{ id: string | null }>(
        `SELECT min(d.master_key) AS id FROM ${this.dataKeys} d WHERE d.master_key > $1`,
        [ids.at(-1) ?? ''],
      );
      if (row!.id === null) return ids;
      ids.push(row!.id);
    }
  }

  /** Data keys that a master key wraps, in the order of their scopes. */
  wrappedBy(masterKey: string, after: string | null, limit: number): Promise<WrappedDataKey[]> {
    return this.database.query(
      `SELECT ${COLUMNS} FROM ${this.dataKeys} d
       WHERE d.master_key = $1 AND ($2::text IS NULL OR d.scope > $2)
       ORDER BY d.scope LIMIT $3`,
      [masterKey, after, limit],
    );
  }

  /** False: the scope was erased meanwhile, or another process has wrapped it again. */
  async rewrap(
    { scope, id, masterKey }: WrappedDataKey,
    now: Pick<WrappedDataKey, 'masterKey' | 'wrapped'>,
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.dataKeys} d SET master_key = $4, wrapped = $5
       WHERE d.scope = $1 AND d.id = $2 AND d.master_key = $3
       RETURNING d.scope`,
      [scope, id, masterKey, now.masterKey, now.wrapped],
    );
    return rows.length === 1;
  }
}
