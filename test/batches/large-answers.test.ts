import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import { outcomeOf, reservationOf } from '../support/key-store.js';
import { valuesOf } from '../support/binary-arrays.js';
import { FINISH } from '../support/store-statements.js';
import { useKeyStore } from '../support/use-key-store.js';

const { keys } = useKeyStore();

const small = Buffer.from('small');
const large: Buffer[] = [randomBytes(20_000), randomBytes(300_000)];

/** The bodies of each statement that recorded answers. */
const recordedTogether = () =>
  keys.sent
    .filter(({ sql }) => FINISH.test(sql))
    .map(({ sql, parameters }) => {
      const value = parameters[5] as Buffer;
      return sql.includes('unnest') ? valuesOf(value) : [value];
    });

describe('Large answers', () => {
  it('travel alone, as their bytes, and small ones together', async () => {
    const batches = new KeyBatches(keys.store, 10_000);
    const bodies = [small, large[0]!, small, large[1]!, small, small];
    const reservations = bodies.map(() => reservationOf(randomUUID()));
    const reserved = await Promise.all(reservations.map((wanted) => batches.reserve(wanted)));
    keys.sent.length = 0;

    const outcomes = reservations.map((wanted, index) =>
      outcomeOf(wanted, reserved[index], { responseBody: bodies[index]! }),
    );
    const recorded = await Promise.all(outcomes.map((outcome) => batches.finish(outcome)));

    expect(recorded.every((row) => row !== undefined)).toBe(true);
    const statements = recordedTogether();
    expect(statements.filter((of) => of.some((body) => large.includes(body)))).toEqual(
      large.map((body) => [body]),
    );
    expect(statements).toContainEqual([small, small]);
    const found = await keys.store.lookUp(reservations);
    expect(found.map((row) => row.kind === 'found' && row.key.answer?.body)).toEqual(bodies);
  });
});
