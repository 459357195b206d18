import { expect, it } from '@jest/globals';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { shortLease } from '../support/cluster.js';
import { describePhases } from '../support/phase-app.js';
import { expectRetryable } from '../support/refusals.js';

const LEASE = shortLease(300);

/** The whole process is stopped for longer than its lease: no timer fires, no heartbeat is sent. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * LEASE);
}

describePhases(
  'An attempt that stalls before its call',
  (app) => {
    /** A request whose process is stopped between the intent and the call. */
    async function stall(key: string, meanwhile: () => Promise<unknown>) {
      let calls = 0;
      app.handle('charge', (phases) =>
        phases.foreign('charge_created', {
          call: async () => {
            calls += 1;
            return 'ch_1';
          },
        }),
      );
      const stopObserving = observeFaultPoints(async ({ name }) => {
        if (name !== 'charge_created:after_intent') return;
        await meanwhile();
        standStill();
      });
      const answer = await app.post('charge', key).finally(stopObserving);
      return { answer, calls: () => calls };
    }

    it('does not call if the key was taken over or given up meanwhile', async () => {
      const { answer, calls } = await stall('replaced', () =>
        app.database.query(
          `UPDATE idempotency_keys SET owner = '00000000-0000-4000-8000-00000000000a', attempt = attempt + 1
           WHERE key = 'replaced'`,
        ),
      );
      expect(calls()).toBe(0);
      expectRetryable(answer, 409, 'lease_lost');
    });

    it('calls if the key is still its own', async () => {
      const { answer, calls } = await stall('kept', async () => undefined);
      expect(calls()).toBe(1);
      expect([answer.status, answer.text]).toEqual([201, 'ch_1']);
    });
  },
  { idempotency: { lease: LEASE, maintenance: false } },
);
