import { describe, expect, it } from '@jest/globals';
import type { Database } from '../../lib/postgres/database.js';
import { isDistributed } from '../../lib/postgres/distribution.js';
import type { TablePlace } from '../../lib/postgres/distribution-queries.js';

const BY_SCOPE = { column: 'scope', colocation: 7 };
const ELSEWHERE = { column: 'scope', colocation: 8 };
const BY_ID = { column: 'id', colocation: 7 };
const NOWHERE = { column: null, colocation: null };

type Place = Omit<TablePlace, 'table'>;

/** The coordinator of a cluster with two tables at these places. */
function cluster(keys: Place, phases: Place): Database {
  const answers: object[][] = [
    [{ citus: true }],
    [
      { table: '"keys"', ...keys },
      { table: '"phases"', ...phases },
    ],
    [{ coordinator: true, datestyle: 'ISO, MDY' }],
  ];
  return {
    table: (name: string) => `"${name}"`,
    query: async () => answers.shift()!,
  } as unknown as Database;
}

const check = (keys: Place, phases: Place) =>
  isDistributed(cluster(keys, phases), ['keys', 'phases']);

describe('Tables on a cluster', () => {
  it('are used as distributed or as plain ones if all of them are', async () => {
    expect(await check(BY_SCOPE, BY_SCOPE)).toBe(true);
    expect(await check(NOWHERE, NOWHERE)).toBe(false);
  });

  it.each([
    [BY_SCOPE, NOWHERE, '"phases" is not distributed.'],
    [BY_SCOPE, BY_ID, '"phases" is distributed by id.'],
    [BY_SCOPE, ELSEWHERE, '"phases" is not colocated with "keys".'],
    [NOWHERE, BY_SCOPE, '"keys" is not distributed.'],
    [BY_ID, BY_ID, '"keys" is distributed by id, "phases" is distributed by id.'],
  ])('are refused otherwise: %j, %j', async (keys, phases, fault) => {
    await expect(check(keys, phases)).rejects.toThrow(fault);
  });

  it('are repaired by a statement if they only have to follow the keys, and by the migration otherwise', async () => {
    await expect(check(BY_SCOPE, NOWHERE)).rejects.toThrow(
      `Run SELECT create_distributed_table('"phases"', 'scope', colocate_with => '"keys"');`,
    );
    for (const [keys, phases] of [
      [NOWHERE, BY_SCOPE],
      [BY_SCOPE, ELSEWHERE],
      [BY_ID, NOWHERE],
    ] as const) {
      await expect(check(keys, phases)).rejects.toThrow('Revert the migration distributeOnCitus()');
    }
  });
});
