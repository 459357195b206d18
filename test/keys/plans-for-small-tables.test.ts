import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { DefaultNamingStrategy } from 'typeorm';
import { finishSql, reserveAndFinishSql } from '../../lib/keys/key-statements.js';
import { recordSql } from '../../lib/phases/phase-statements.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { planOf, readsOf } from '../support/plans.js';

// A connection keeps the plan of a prepared statement while the table grows. One
// that reads the whole table would be the cheapest for the first keys, and a
// hundred times slower than the index a minute later.
const KEYS = 'idempotency_keys';
const PHASES = 'idempotency_phases';
const names = new DefaultNamingStrategy();
const BY_NAME = names.primaryKeyName(KEYS, ['scope', 'endpoint', 'key']);
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

describe('Query plans', () => {
  it.each([
    ['that record answers', finishSql(KEYS, 'many'), BY_NAME],
    ['that reserve keys and record answers', reserveAndFinishSql(KEYS), BY_NAME],
    ['that record phases', recordSql(KEYS, PHASES, 'many'), BY_ID],
  ])('find keys by the index even in a new table: statements %s', async (_, sql, index) => {
    const parameters = Math.max(...Array.from(sql.matchAll(/\$(\d+)/g), ([, number]) => +number!));
    await connection.query(`PREPARE planned AS ${sql}`);
    const { rows } = await connection.query(
      `EXPLAIN (FORMAT JSON) EXECUTE planned (${Array(parameters).fill('NULL').join()})`,
    );
    await connection.query('DEALLOCATE planned');

    const reads = readsOf(planOf(rows[0]), KEYS);
    expect(reads).toMatchObject([
      { 'Node Type': 'Index Scan', 'Index Name': index, 'Relation Name': KEYS },
    ]);
  });
});
