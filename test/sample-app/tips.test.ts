import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forEachPlatform } from '../support/platforms.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

forEachPlatform('Rocket Rides', (platform) => {
  describe('A tip', () => {
    let sample: RocketRides;
    let path: string;
    beforeAll(async () => {
      sample = await startRocketRides(platform);
      const body = { origin: 'earth', target: 'moon' };
      const ride = await sample.post('/rides', { key: 'ride', body });
      path = `/rides/${ride.json().id}/tips`;
    });
    afterAll(() => sample.close());

    const tips = () => sample.database.query('SELECT amount, declined, transfer_id FROM tips');
    const transfersOf = async (amount: number) =>
      (await sample.provider.control.transfers()).filter((transfer) => transfer.amount === amount);

    it('is transferred and stored', async () => {
      const answer = await sample.post(path, { key: 'tip', body: { amount: 100 } });
      expect(answer.status).toBe(201);
      const [transfer] = await transfersOf(100);
      expect(answer.json()).toMatchObject({
        amount: 100,
        transferId: transfer?.id,
        declined: null,
      });
      const retry = await sample.post(path, { key: 'tip', body: { amount: 100 } });
      expect(retry.text).toBe(answer.text);
      expect(await transfersOf(100)).toHaveLength(1);
    });

    it('that is declined is a normal result: stored, and answered with 201', async () => {
      await sample.provider.control.next('decline');
      const request = { key: 'blocked', body: { amount: 200 } };
      const answer = await sample.post(path, request);
      expect(answer.status).toBe(201);
      expect(answer.json()).toMatchObject({ transferId: null, declined: 'recipient_blocked' });
      expect(await tips()).toContainEqual({
        amount: 200,
        declined: 'recipient_blocked',
        transfer_id: null,
      });
      const retry = await sample.post(path, request);
      expect(retry.text).toBe(answer.text);
      expect(await transfersOf(200)).toHaveLength(1);
    });

    it.each(['drop_before', 'drop_after', 'error_after'] as const)(
      'is never sent again after "%s": the outcome is unknown, and every retry is told so',
      async (behaviour) => {
        await sample.provider.control.next(behaviour);
        const amount = 1000 + behaviour.length;
        const request = { key: `doubt-${behaviour}`, body: { amount } };
        for (let attempt = 1; attempt <= 3; attempt += 1) {
          const answer = await sample.post(path, request);
          expect(answer.status).toBe(409);
          expect(answer.json().code).toBe('outcome_unknown');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        }
        const moved = behaviour === 'drop_before' ? 0 : 1;
        expect(await transfersOf(amount)).toHaveLength(moved);
        const keys = await sample.database.query(
          'SELECT status FROM idempotency_keys WHERE key = $1',
          [request.key],
        );
        expect(keys).toEqual([{ status: 'unknown' }]);
      },
    );

    it('for a ride of another user is refused before anything is transferred', async () => {
      const answer = await sample.post(path, {
        key: 'foreign',
        body: { amount: 400 },
        token: 'token-of-grace',
      });
      expect(answer.status).toBe(404);
      expect(await transfersOf(400)).toEqual([]);
    });
  });
});
