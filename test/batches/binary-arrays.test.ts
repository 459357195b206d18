import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { binaryArray } from '../../lib/postgres/binary-array.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

// Values as the store gives them to a statement, and what the server understands.
const ARRAYS: [what: string, type: string, values: unknown[]][] = [
  ['texts', 'text', ['key', '', ' ', 'NULL', '{"a,b"}', 'back\\slash', 'line\nbreak']],
  ['texts beyond ASCII', 'text', ['Zürich', '順序', '👍', 'é'.repeat(60), 'Ω'.repeat(5_000)]],
  ['long texts', 'text', ['x'.repeat(24), 'x'.repeat(25), 'x'.repeat(70_000)]],
  ['bytes', 'bytea', [Buffer.alloc(0), Buffer.from([0, 1, 255]), randomBytes(20_000)]],
  ['UUIDs', 'uuid', [randomUUID(), '00000000-0000-0000-0000-000000000000', randomUUID()]],
  ['integers', 'int', [0, 1, -1, 2_147_483_647, -2_147_483_648]],
  [
    'large integers',
    'bigint',
    ['0', '1', '-1', '4294967296', '4294967295', '999999999999999', '1000000000000000'],
  ],
  ['the largest integers', 'bigint', ['9223372036854775807', '-9223372036854775808']],
  ['numbers', 'float8', [0, 1.5, -0.1, 86_400_000, 1e300]],
  ['values with nulls between them', 'text', [null, 'a', null, '', null]],
  ['nothing but nulls', 'bytea', [null, null]],
  ['a single value', 'uuid', [randomUUID()]],
];

describe('An array in binary format', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it.each(ARRAYS)('has the same values on the server: %s', async (_, type, values) => {
    const { rows } = await database.pool.query<{ value: unknown }>(
      `SELECT value FROM unnest($1::${type}[]) WITH ORDINALITY AS a (value, position) ORDER BY position`,
      [binaryArray(type, values)],
    );
    expect(rows.map(({ value }) => value)).toEqual(values);
  });

  it('reads a UUID in capitals', async () => {
    const uuid = randomUUID();
    const { rows } = await database.pool.query<{ value: string }>(
      'SELECT unnest($1::uuid[]) AS value',
      [binaryArray('uuid', [uuid.toUpperCase()])],
    );
    expect(rows).toEqual([{ value: uuid }]);
  });

  it('is refused for a type that has no format', () => {
    expect(() => binaryArray('money', [1])).toThrow('money');
  });
});
