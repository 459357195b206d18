import { describe, expect, it } from '@jest/globals';
import { openKeyStore, reservationOf } from '../support/key-store.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { useKeyStore } from '../support/use-key-store.js';

describe('A batch of reservations', () => {
  const { database, keys } = useKeyStore();

  it('answers each one in the order it was asked', async () => {
    const taken = reservationOf('taken');
    await keys.store.reserve([taken]);
    const statements = keys.sent.length;

    const results = await keys.store.reserve([
      reservationOf('zebra'),
      reservationOf('taken'),
      reservationOf('ant', { retention: null }),
    ]);

    expect(keys.sent).toHaveLength(statements + 2); // for all that are free, and all that are not
    expect(results).toMatchObject([
      { kind: 'reserved' },
      { kind: 'found', key: { owner: taken.owner, status: 'in_progress', attempt: 1 } },
      { kind: 'reserved' },
    ]);
    const rows = await database.query('SELECT id, key FROM idempotency_keys');
    const idOf = (key: string) => rows.find((row) => row.key === key)?.id;
    expect(results[0]).toMatchObject({ id: idOf('zebra') });
    expect(results[2]).toMatchObject({ id: idOf('ant') });
  });

  it('gives a key to one of two reservations for it', async () => {
    const twins = [reservationOf('twin'), reservationOf('twin')];
    const results = await keys.store.reserve(twins);

    expect(results.map(({ kind }) => kind).toSorted()).toEqual(['found', 'reserved']);
    const winner = twins[results.findIndex(({ kind }) => kind === 'reserved')]!;
    expect(results).toContainEqual({
      kind: 'found',
      key: expect.objectContaining({ owner: winner.owner, status: 'in_progress' }),
    });
  });

  it('separates keys that differ in scope or endpoint only', async () => {
    const results = await keys.store.reserve([
      reservationOf('same', { scope: 'a', endpoint: 'bc' }),
      reservationOf('same', { scope: 'ab', endpoint: 'c' }),
      reservationOf('same', { scope: 'a', endpoint: '' }),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['reserved', 'reserved', 'reserved']);
  });

  it('does not deadlock with another process that reserves in the opposite order', async () => {
    const other = await openKeyStore(database.url);
    try {
      const results = await withTransaction(database, async (tx) => {
        // Whoever asks for the middle one waits here, with the first one in hand.
        await tx.query(
          `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
           VALUES ('tests', 'm', 'x', gen_random_uuid(), now())`,
        );
        const forward = keys.store.reserve(['a', 'm', 'z'].map((key) => reservationOf(key)));
        await untilBlocked(database, 1);
        const backward = other.store.reserve(['z', 'm', 'a'].map((key) => reservationOf(key)));
        await untilBlocked(database, 2);
        await tx.query('ROLLBACK');
        return Promise.all([forward, backward]);
      });
      expect(results[0].map(({ kind }) => kind)).toEqual(['reserved', 'reserved', 'reserved']);
      expect(results[1].map(({ kind }) => kind)).not.toContain('reserved');
    } finally {
      await other.close();
    }
  });
});
