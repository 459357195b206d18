import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { DefaultNamingStrategy } from 'typeorm';
import {
  finishSql,
  OUTCOMES,
  OUTCOMES_AND_PHASES,
  RESERVATIONS,
  reserveAndFinishSql,
} from '../../lib/keys/key-statements.js';
import { ENTRIES, ENTRIES_AFTER, recordSql } from '../../lib/phases/phase-statements.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { planOf, readsOf } from '../support/plans.js';

// A connection keeps the plan of a prepared statement while the table grows. One
// that reads the whole table would be the cheapest for the first keys, and a
// hundred times slower than the index a minute later.
const KEYS = 'idempotency_keys';
const PHASES = 'idempotency_phases';
const names = new DefaultNamingStrategy();
const BY_ID = names.uniqueConstraintName(KEYS, ['id']);
const BY_NAME = names.primaryKeyName(PHASES, ['scope', 'key_id', 'name']);

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
  const wanted = RESERVATIONS.sharedAt(level);
  const both = reserveAndFinishSql(KEYS, wanted, outcomes);
  const alike = `of rows alike at level ${level}`;
  return [
    [`that record answers ${alike}`, finishSql(KEYS, 'many', { shared: outcomes })],
    [`that reserve keys and record answers ${alike}`, both],
    [`that record phases ${alike}`, recordSql(KEYS, PHASES, 'many', { shared: entries })],
  ];
}

/** Those that also end phases. */
function endingAt(level: number): [what: string, sql: string][] {
  const outcomes = OUTCOMES_AND_PHASES.sharedAt(level);
  const entries = ENTRIES_AFTER.sharedAt(level);
  const wanted = RESERVATIONS.sharedAt(level);
  const alike = `of rows alike at level ${level}`;
  return [
    [
      `that record answers and last phases ${alike}`,
      finishSql(KEYS, 'many', { shared: outcomes, phases: PHASES }),
    ],
    [
      `that reserve keys and record answers and last phases ${alike}`,
      reserveAndFinishSql(KEYS, wanted, outcomes, PHASES),
    ],
    [
      `that end phases and record the next ones ${alike}`,
      recordSql(KEYS, PHASES, 'many', { shared: entries, after: true }),
    ],
  ];
}

async function planned(sql: string) {
  const parameters = Math.max(...Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => +number!));
  await connection.query(`PREPARE planned AS ${sql}`);
  const { rows } = await connection.query(
    `EXPLAIN (FORMAT JSON) EXECUTE planned (${Array(parameters).fill('NULL').join()})`,
  );
  await connection.query('DEALLOCATE planned');
  return planOf(rows[0]);
}

describe('Query plans', () => {
  const keysById = { 'Node Type': 'Index Scan', 'Index Name': BY_ID, 'Relation Name': KEYS };

  it.each([0, 1, 2].flatMap(statementsAt))(
    'find keys by the index even in a new table: statements %s',
    async (_, sql) => {
      expect(readsOf(await planned(sql), KEYS)).toMatchObject([keysById]);
    },
  );

  it.each([0, 1, 2].flatMap(endingAt))(
    'find keys and phases by the index even in a new table: statements %s',
    async (_, sql) => {
      expect(readsOf(await planned(sql), KEYS)).toMatchObject([
        keysById,
        { 'Node Type': 'Index Scan', 'Index Name': BY_NAME, 'Relation Name': PHASES },
      ]);
    },
  );
});
