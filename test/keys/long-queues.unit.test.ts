import { describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../lib/postgres/store-unavailable.error.js';
import { KeyBatches } from '../../lib/keys/key-batches.js';
import type { KeyStore } from '../../lib/keys/key-store.js';
import type { ReserveResult } from '../../lib/keys/reservation.js';
import { barrier } from '../support/barrier.js';
import { reservationOf } from '../support/key-store.js';

/** More than all statements under way together can carry. */
const CROWD = 1_000;

// While the database does not answer, requests queue behind the few statements that
// are under way. Each of them must be answered in time.
describe('Requests in a long queue', () => {
  it('are refused when their time is up, and never sent', async () => {
    const stuck = barrier();
    const sent: string[] = [];
    const standing = {
      async reserve(batch: { key: string }[]): Promise<ReserveResult[]> {
        sent.push(...batch.map(({ key }) => key));
        await stuck.pass();
        return batch.map(() => ({ kind: 'missed' }));
      },
    };
    const batches = new KeyBatches(standing as unknown as KeyStore, 1_000);
    const refused: string[] = [];
    const all = Array.from({ length: CROWD }, async (_, i) => {
      const key = `key-${i}`;
      await batches.reserve(reservationOf(key)).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
        // Nothing to withdraw: it was not sent and never will be.
        expect((error as StoreUnavailableError).late).toBeUndefined();
        refused.push(key);
        // The statements under way end only after everybody else is refused.
        if (refused.length + sent.length === CROWD) stuck.open();
      });
    });

    await Promise.all(all);
    expect(sent.length).toBeLessThan(CROWD);
    expect(sent.filter((key) => refused.includes(key))).toEqual([]);
  });
});
