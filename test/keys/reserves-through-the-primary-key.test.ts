import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { DefaultNamingStrategy } from 'typeorm';
import { reservationOf, type OpenKeyStore } from '../support/key-store.js';
import { planOf, readsOf, type PlanNode } from '../support/plans.js';
import { useKeyStore } from '../support/use-key-store.js';

const PRIMARY_KEY = new DefaultNamingStrategy().primaryKeyName('idempotency_keys', [
  'scope',
  'endpoint',
  'key',
]);

describe('The plan of the reservation', () => {
  const { database, keys } = useKeyStore();

  /** How the database takes free keys, and how it reads those that are taken. */
  async function plans(wanted: number): Promise<{ reserve: PlanNode[]; lookUp: PlanNode[] }> {
    const reservations = Array.from({ length: wanted }, (_, i) => reservationOf(`planned-${i}`));
    await keys.store.reserve(reservations);
    await keys.store.reserve(reservations.map((one) => ({ ...one, owner: randomUUID() })));
    const [reserve, lookUp] = keys.sent.slice(-2);
    return { reserve: await explain(reserve!), lookUp: await explain(lookUp!) };
  }

  async function explain({ sql, parameters }: OpenKeyStore['sent'][number]): Promise<PlanNode[]> {
    const [row] = await database.query(`EXPLAIN (FORMAT JSON) ${sql}`, parameters);
    return planOf(row);
  }

  async function expectPrimaryKeyOnly(wanted: number): Promise<void> {
    const { reserve, lookUp } = await plans(wanted);
    const insert = reserve.find((node) => node['Node Type'] === 'ModifyTable');
    expect(insert).toMatchObject({
      'Conflict Resolution': 'NOTHING',
      'Conflict Arbiter Indexes': [PRIMARY_KEY],
    });
    expect(readsOf(reserve, 'idempotency_keys')).toEqual([]);
    expect(readsOf(lookUp, 'idempotency_keys')).toMatchObject([
      { 'Node Type': 'Index Scan', 'Index Name': PRIMARY_KEY },
    ]);
  }

  it('uses the primary key on an empty table without statistics', async () => {
    await expectPrimaryKeyOnly(1);
  });

  it.each([1, 100])('uses the unique index among 50,000 keys, for %d at a time', async (wanted) => {
    await database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
       SELECT 'tests', 'key-' || $1 || '-' || n, sha256('x'), gen_random_uuid(), now()
       FROM generate_series(1, 50000) AS n`,
      [wanted],
    );
    await database.query('ANALYZE idempotency_keys');
    await expectPrimaryKeyOnly(wanted);
  });
});
