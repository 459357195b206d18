import type { KeyStore, StoredKey } from 'nestjs-atomic-idempotency/client';
import type { DataSource } from 'typeorm';

/** The key of a payout is in the payout's own row, in a column `request_key jsonb`; its id is the operation. */
export function payoutKeys(dataSource: DataSource): KeyStore {
  return {
    async add(id, key) {
      // One statement: of two workers, the second gets the key of the first.
      const [[row]] = await dataSource.query<[{ request_key: StoredKey }[], number]>(
        `UPDATE payouts SET request_key = coalesce(request_key, $2) WHERE id = $1 RETURNING request_key`,
        [id, key],
      );
      if (!row) throw new Error(`There is no payout ${id}.`);
      return row.request_key;
    },
    async update(id, key) {
      await dataSource.query(
        `UPDATE payouts SET request_key = $2 WHERE id = $1 AND request_key->>'key' = $3`,
        [id, key, key.key],
      );
    },
    async remove(id, key) {
      await dataSource.query(
        `UPDATE payouts SET request_key = NULL WHERE id = $1 AND request_key->>'key' = coalesce($2, request_key->>'key')`,
        [id, key],
      );
    },
  };
}
