import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { DefaultNamingStrategy } from 'typeorm';
import {
  finishSql,
  OUTCOMES,
  RESERVATIONS,
  reserveAndFinishSql,
} from '../../lib/keys/key-statements.js';
import { ENTRIES, recordSql } from '../../lib/phases/phase-statements.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { planOf, readsOf } from '../support/plans.js';

// A connection keeps the plan of a prepared statement while the table grows. One
// that reads the whole table would be the cheapest for the first keys, and a
// hundred times slower than the index a minute later.
const KEYS = 'idempotency_keys';
const PHASES = 'idempotency_phases';
const names = new DefaultNamingStrategy();
const BY_ID = names.uniqueConstraintName(KEYS, ['id']);

let database: TestDatabase;
let connection: PoolClient;

beforeAll(async () => {
  database = await createTestDatabase();
  connection = await database.pool.connect();
  await connection.query('SET plan_cache_mode = force_generic_plan');
});
afterAll(async () => {
  connection?.release();
  await database?.drop();
});

/** The statements that record many rows, in the form for rows that share this much. */
function statementsAt(level: number): [what: string, sql: string][] {
  const outcomes = OUTCOMES.sharedAt(level);
  const entries = ENTRIES.sharedAt(level);
  const both = reserveAndFinishSql(KEYS, RESERVATIONS.sharedAt(level), outcomes);
  const alike = `of rows alike at level ${level}`;
  return [
    [`that record answers ${alike}`, finishSql(KEYS, 'many', 0, outcomes)],
    [`that reserve keys and record answers ${alike}`, both],
    [`that record phases ${alike}`, recordSql(KEYS, PHASES, 'many', false, false, entries)],
  ];
}

describe('Query plans', () => {
  it.each([0, 1, 2].flatMap(statementsAt))(
    'find keys by the index even in a new table: statements %s',
    async (_, sql) => {
      const parameters = Math.max(
        ...Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => +number!),
      );
      await connection.query(`PREPARE planned AS ${sql}`);
      const { rows } = await connection.query(
        `EXPLAIN (FORMAT JSON) EXECUTE planned (${Array(parameters).fill('NULL').join()})`,
      );
      await connection.query('DEALLOCATE planned');

      const reads = readsOf(planOf(rows[0]), KEYS);
      expect(reads).toMatchObject([
        { 'Node Type': 'Index Scan', 'Index Name': BY_ID, 'Relation Name': KEYS },
      ]);
    },
  );
});
