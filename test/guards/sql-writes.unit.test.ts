import { describe, expect, it } from '@jest/globals';
import { describeWrite, isWrite } from '../../lib/phases/sql-writes.js';

describe('isWrite', () => {
  it.each([
    'INSERT INTO a VALUES (1)',
    '\n  update "a" SET x = 1',
    'DELETE FROM a',
    'MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE',
    'TRUNCATE a',
    '/* by hand */ INSERT INTO a VALUES (1)',
    "-- it's late\nUPDATE a SET x = 1",
    'WITH x AS (INSERT INTO a VALUES (1) RETURNING *) SELECT * FROM x',
    'WITH x AS MATERIALIZED ( DELETE FROM a RETURNING *) SELECT * FROM x',
    'WITH x AS (SELECT 1) INSERT INTO a SELECT * FROM x',
    'WITH x AS (SELECT 1)\nUPDATE a SET x = 1',
    'SELECT 1; DELETE FROM a',
  ])('recognises that %j changes rows', (sql) => {
    expect(isWrite(sql)).toBe(true);
  });

  it.each([
    'SELECT * FROM a',
    'SELECT * FROM a FOR UPDATE',
    'SELECT * FROM a WHERE id IN (SELECT id FROM b) FOR NO KEY UPDATE SKIP LOCKED',
    `SELECT '; DELETE FROM a', "(update", $$(INSERT INTO a)$$ /* (DELETE FROM a) */ -- ;DELETE`,
    'WITH x AS (SELECT 1) SELECT * FROM x',
    'SELECT updated_at FROM deleted_things',
    'START TRANSACTION',
    'COMMIT',
    'SELECT * INTO b FROM a',
  ])('recognises that %j changes no rows', (sql) => {
    expect(isWrite(sql)).toBe(false);
  });
});

describe('describeWrite', () => {
  it.each([
    ['INSERT INTO "shop"."orders"("id") VALUES ($1)', 'INSERT INTO "shop"."orders"'],
    ['update only orders set x = 1', 'UPDATE orders'],
    ['WITH x AS (DELETE  FROM a RETURNING *) SELECT * FROM x', 'DELETE FROM a'],
    ['TRUNCATE TABLE a, b', 'TRUNCATE TABLE a'],
  ])('names %j', (sql, name) => {
    expect(describeWrite(sql)).toBe(name);
  });
});
