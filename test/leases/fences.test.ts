import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Failed } from '../../lib/postgres/batcher.js';
import type { KeyOutcome } from '../../lib/keys/key-outcome.js';
import type { FoundKey } from '../../lib/keys/found-key.js';
import type { Reservation } from '../../lib/keys/reservation.js';
import { reservationOf, type OpenKeyStore } from '../support/key-store.js';
import { writtenRow } from '../support/written-row.js';
import { useKeyStore } from '../support/use-key-store.js';

/** What the stalled attempt knows, from the time when it owned the key. */
interface Stale {
  reservation: Reservation;
  seen: FoundKey;
}

function ended({ reservation, seen }: Stale, status: KeyOutcome['status']): KeyOutcome {
  const { scope, owner } = reservation;
  return {
    scope,
    id: seen.id,
    owner,
    status,
    responseStatus: 201,
    responseHeaders: {},
    responseBody: Buffer.from('stalled'),
    responseVersion: 1,
    errorCode: null,
    resumeIn: null,
    retention: 1,
  };
}

/** Every write after the reservation, with what tells the attempt that it came too late. */
const WRITES: Record<string, (keys: OpenKeyStore, stale: Stale) => Promise<void>> = {
  async complete({ store }, stale) {
    expect((await store.finish([ended(stale, 'completed')])).size).toBe(0);
  },
  async 'end as retryable'({ store }, stale) {
    expect((await store.finish([ended(stale, 'failed_retryable')])).size).toBe(0);
  },
  async 'end as unknown'({ store }, stale) {
    expect((await store.finish([ended(stale, 'unknown')])).size).toBe(0);
  },
  async 'give back'({ transitions }, { reservation }) {
    await transitions.giveBack(reservation);
  },
  async renew({ leases }, { reservation }) {
    expect(await leases.renew([reservation])).toEqual([reservation.owner]);
  },
  async 'let go'({ leases }, { reservation }) {
    await leases.letGo([reservation]);
  },
  async 'take over'({ transitions }, { seen }) {
    expect(await transitions.takeOver(seen, randomUUID(), 30_000)).toBe('outdated');
  },
  async 'declare unknown'({ transitions }, { seen }) {
    await transitions.declareUnknown(seen, 'abandoned');
  },
  async forget({ transitions }, { seen }) {
    await transitions.forget(seen);
  },
};

describe('A write of an attempt that was replaced', () => {
  const { database, keys } = useKeyStore();
  beforeEach(() => database.query('DELETE FROM idempotency_keys'));

  /** One attempt lapsed and another one took the key over; both were done by real statements. */
  async function replace(): Promise<{ stale: Stale; successor: { owner: string } }> {
    const { store, transitions } = keys;
    const reservation = reservationOf('fenced');
    const [reserved] = await store.reserve([reservation]);
    await database.query(`UPDATE idempotency_keys SET locked_until = now() - interval '1 second'`);
    const [found] = await store.reserve([reservationOf('fenced')]);
    if (reserved?.kind !== 'reserved' || found?.kind !== 'found') throw new Error('not reserved');
    const owner = randomUUID();
    expect(await transitions.takeOver(found.key, owner, 30_000)).toBe('changed');
    return { stale: { reservation, seen: found.key }, successor: { owner } };
  }

  const STATES = ['in_progress', 'completed', 'failed_retryable', 'unknown'] as const;

  describe.each(STATES)('when its successor left the key %s', (status) => {
    it.each(Object.keys(WRITES))('changes nothing: %s', async (write) => {
      const { stale, successor } = await replace();
      if (status !== 'in_progress') {
        const { owner } = successor;
        const outcome = { ...ended(stale, status), owner, retention: 86_400_000 };
        await keys.store.finish([outcome]);
      }
      const before = await writtenRow(database, 'fenced');
      expect(before).toMatchObject({ status, owner: successor.owner, attempt: 2 });

      await WRITES[write]!(keys, stale);
      expect(await writtenRow(database, 'fenced')).toEqual(before);
    });
  });

  it.each(['finish', 'reserveAndFinish'] as const)(
    'is not considered done because its successor ends in the same statement (%s)',
    async (statement) => {
      const { stale, successor } = await replace();
      const { owner } = successor;
      const answer = Buffer.from('of the successor');
      const outcomes = [
        ended(stale, 'completed'),
        { ...ended(stale, 'completed'), owner, responseBody: answer, retention: 86_400_000 },
      ];
      const recorded =
        statement === 'finish'
          ? await keys.store.finish(outcomes)
          : (await keys.store.reserveAndFinish([reservationOf('another')], outcomes)).recorded;
      if (recorded instanceof Failed) throw recorded.error;
      expect([...recorded.keys()]).toEqual([owner]);
      expect(await writtenRow(database, 'fenced')).toMatchObject({
        status: 'completed',
        response_body: answer,
      });
    },
  );

  it('does not cost its successor in the same process the lease', async () => {
    const { stale, successor } = await replace();
    const { reservation } = stale;
    const lost = await keys.leases.renew([reservation, { ...reservation, ...successor }]);
    expect(lost).toEqual([reservation.owner]);
  });

  it("changes nothing even if the successor's lease has lapsed as well", async () => {
    const { stale } = await replace();
    await database.query(`UPDATE idempotency_keys SET locked_until = now() - interval '1 second'`);
    const before = await writtenRow(database, 'fenced');
    for (const write of Object.values(WRITES)) {
      await write(keys, stale);
      expect(await writtenRow(database, 'fenced')).toEqual(before);
    }
  });

  it('does not recreate a key that was removed', async () => {
    const { stale } = await replace();
    await database.query('DELETE FROM idempotency_keys');
    for (const write of Object.values(WRITES)) {
      await write(keys, stale);
      expect(await writtenRow(database, 'fenced')).toBeUndefined();
    }
  });
});
