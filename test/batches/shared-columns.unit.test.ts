import { describe, expect, it } from '@jest/globals';
import { BatchColumns, BatchStatement } from '../../lib/postgres/batch-statement.js';
import { GivenRows } from '../../lib/postgres/parameter-rows.js';
import { valuesOf } from '../support/binary-arrays.js';

const TYPES = { key: 'text', lease: 'int', route: 'text', path: 'text' };
const columns = new BatchColumns(TYPES, ['lease'], ['route', 'path']);
const tableOf = new BatchStatement([columns], (shared) => {
  const rows = new GivenRows('many', TYPES, 'w', 0, shared);
  return `SELECT ${rows.of('lease')}, ${rows.of('path')} FROM ${rows.tables.join()}`;
});

const read = (parameters: unknown[]) =>
  parameters.map((value) => (Buffer.isBuffer(value) ? valuesOf(value).map(String) : value));

describe('The columns of a batch', () => {
  it('are plain parameters where all rows have the same value', () => {
    const [{ text }, parameters] = tableOf.of([
      ['a', 'b'],
      [1, 1],
      ['/r', '/r'],
      [null, null],
    ]);

    expect(read(parameters)).toEqual([['a', 'b'], 1, '/r', null]);
    expect(text).toBe(
      'SELECT $2::int, $4::text FROM (SELECT * FROM unnest($1::text[]) LIMIT cardinality($1::text[])) AS w (key)',
    );
  });

  it('are arrays from the first level on in which the rows differ', () => {
    const leases = tableOf.of([
      ['a', 'b'],
      [1, 2],
      ['/r', '/r'],
      ['/p', '/p'],
    ]);
    expect(read(leases[1])).toEqual([
      ['a', 'b'],
      ['\0\0\0\x01', '\0\0\0\x02'],
      ['/r', '/r'],
      ['/p', '/p'],
    ]);

    const [{ text }, parameters] = tableOf.of([
      ['a', 'b'],
      [1, 1],
      ['/r', '/r'],
      ['/p', '/q'],
    ]);
    expect(read(parameters)).toEqual([['a', 'b'], 1, ['/r', '/r'], ['/p', '/q']]);
    expect(text).toContain('AS w (key,route,path)');
  });

  it('lead to the same statement, which is prepared once, for batches of the same form', () => {
    const [first] = tableOf.of([
      ['a', 'b'],
      [1, 1],
      ['/r', '/r'],
      ['/p', '/p'],
    ]);
    const [second] = tableOf.of([
      ['c', 'd', 'e'],
      [7, 7, 7],
      ['', '', ''],
      ['', '', ''],
    ]);
    const [other] = tableOf.of([
      ['c', 'd'],
      [7, 7],
      ['/r', '/s'],
      ['', ''],
    ]);

    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });
});
