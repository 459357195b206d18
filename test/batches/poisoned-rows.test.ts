import { beforeAll, describe, expect, it } from '@jest/globals';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import type { KeyOutcome } from '../../lib/keys/key-outcome.js';
import { outcomeOf as finished, reservationOf } from '../support/key-store.js';
import { useKeyStore } from '../support/use-key-store.js';

// What the database refuses is refused with the whole statement. The others in
// it have done nothing wrong.
describe('A row that the database refuses', () => {
  const { database, keys } = useKeyStore();
  let batches: KeyBatches;
  beforeAll(() => {
    batches = new KeyBatches(keys.store, 10_000);
  });

  /** No text column can hold it. */
  const POISON = 'nul\0';

  async function outcomeOf(key: string, header = 'fine'): Promise<KeyOutcome> {
    const reservation = reservationOf(key);
    return finished(reservation, await batches.reserve(reservation), {
      responseHeaders: { 'x-note': header },
      responseBody: Buffer.from(key),
    });
  }

  it('does not prevent other rows of its batch from being reserved or recorded', async () => {
    const good = await Promise.all(['one', 'two', 'three'].map((key) => outcomeOf(key)));
    const bad = await outcomeOf('bad', POISON);
    const statements = keys.sent.length;

    const outcomes = await Promise.allSettled([
      batches.reserve(reservationOf('first')),
      ...good.map((outcome) => batches.finish(outcome)),
      batches.finish(bad),
      batches.reserve(reservationOf(POISON)),
      batches.reserve(reservationOf('last')),
    ]);

    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    // The first one had left already; the others left together, and then one by one.
    expect(keys.sent).toHaveLength(statements + 1 + 1 + 6);
    const rows = await database.query<{ key: string; status: string }>(
      'SELECT key, status FROM idempotency_keys ORDER BY key',
    );
    expect(Object.fromEntries(rows.map(({ key, status }) => [key, status]))).toEqual({
      bad: 'in_progress',
      first: 'in_progress',
      last: 'in_progress',
      one: 'completed',
      three: 'completed',
      two: 'completed',
    });
  });
});
