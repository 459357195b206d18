import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messages } from '../outbox/messages.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const RIDE = { origin: 'earth', target: 'moon' };

forEachPlatform('Rocket Rides', (platform) => {
  describe('A ride', () => {
    let sample: RocketRides;
    beforeAll(async () => {
      sample = await startRocketRides(platform);
    });
    afterAll(() => sample.close());

    const rides = () => sample.database.query('SELECT * FROM rides ORDER BY id');
    const chargesFor = async (rideId: string) => {
      const charges = await sample.provider.control.charges();
      return charges.filter(({ description }) => description === `Ride ${rideId}`);
    };

    const receiptsFor = async (rideId: string) => {
      const receipts = await sample.provider.control.receipts();
      return receipts.filter(({ description }) => description === `Receipt for ride ${rideId}`);
    };
    const untilNoReceiptIsUnderWay = () =>
      until(async () => (await messages(sample.database)).length === 0);

    it('is created, charged and receipted, and answered with 201', async () => {
      const answer = await sample.post('/rides', { key: 'happy', body: RIDE });
      expect(answer.status).toBe(201);
      const ride = answer.json();
      expect(ride).toEqual({
        id: expect.any(String),
        origin: 'earth',
        target: 'moon',
        fare: 4900,
        chargeId: expect.stringMatching(/^ch_/),
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      });
      expect(await chargesFor(ride.id)).toMatchObject([
        { id: ride.chargeId, amount: 4900, card: 'card_visa' },
      ]);
      const [row] = await sample.database.query(
        `SELECT rides.user_id, charge_id, k.key, k.scope, a.action
           FROM rides
           JOIN idempotency_keys k ON k.id = idempotency_key_id
           JOIN audit_records a ON a.subject = 'ride/' || rides.id
          WHERE rides.id = $1`,
        [ride.id],
      );
      expect(row).toEqual({
        user_id: 'ada',
        charge_id: ride.chargeId,
        key: 'happy',
        scope: 'ada',
        action: 'ride.created',
      });
      await untilNoReceiptIsUnderWay();
      expect(await receiptsFor(ride.id)).toMatchObject([
        { email: 'ada@example.com', amount: 4900, currency: 'usd' },
      ]);
    });

    it('is not made again by a retry', async () => {
      const first = await sample.post('/rides', { key: 'retried', body: RIDE });
      const before = await rides();
      const retry = await sample.post('/rides', { key: 'retried', body: RIDE });
      expect(retry.status).toBe(201);
      expect(retry.text).toBe(first.text);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(await rides()).toEqual(before);
      expect(await chargesFor(first.json().id)).toHaveLength(1);
      await untilNoReceiptIsUnderWay();
      expect(await receiptsFor(first.json().id)).toHaveLength(1);
    });

    it('belongs to its user: the same key of another user is another ride', async () => {
      const ada = await sample.post('/rides', { key: 'shared', body: RIDE });
      const grace = await sample.post('/rides', {
        key: 'shared',
        body: RIDE,
        token: 'token-of-grace',
      });
      expect(grace.status).toBe(201);
      expect(grace.json().id).not.toBe(ada.json().id);

      const read = (token: string) =>
        send(`${sample.url}/rides/${ada.json().id}`, {
          method: 'GET',
          headers: { authorization: `Bearer ${token}` },
        });
      expect((await read('token-of-ada')).json().chargeId).toBe(ada.json().chargeId);
      expect((await read('token-of-grace')).status).toBe(404);
    });

    it('needs a known user', async () => {
      const before = await rides();
      const answer = await sample.post('/rides', { key: 'stranger', body: RIDE, token: 'forged' });
      expect(answer.status).toBe(401);
      expect(await rides()).toEqual(before);
    });

    it('is not started with an invalid body, whose key may be used again', async () => {
      const invalid = { origin: 'earth', target: 'the sun' };
      const refused = await sample.post('/rides', { key: 'corrected', body: invalid });
      expect(refused.status).toBe(400);
      const corrected = await sample.post('/rides', { key: 'corrected', body: RIDE });
      expect(corrected.status).toBe(201);
    });

    it('with a declined card gets a final 402, and stays on record without a charge', async () => {
      const request = { key: 'broke', body: { ...RIDE, card: 'card_declined' } };
      const first = await sample.post('/rides', request);
      expect(first.status).toBe(402);
      expect(first.json()).toMatchObject({ reason: 'insufficient_funds' });
      const retry = await sample.post('/rides', request);
      expect(retry.status).toBe(402);
      expect(retry.text).toBe(first.text);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');

      const made = await sample.database.query(
        `SELECT rides.id, rides.charge_id, k.status
           FROM rides JOIN idempotency_keys k ON k.id = idempotency_key_id
          WHERE k.key = 'broke'`,
      );
      expect(made).toMatchObject([{ charge_id: null, status: 'completed' }]);
      await untilNoReceiptIsUnderWay();
      expect(await receiptsFor(made[0]!.id)).toEqual([]);
    });

    it.each(['drop_after', 'error_after', 'drop_before'] as const)(
      'is finished by a retry when the provider does "%s": one charge',
      async (behaviour) => {
        await sample.provider.control.next(behaviour);
        const request = { key: `survives-${behaviour}`, body: RIDE };
        const first = await sample.post('/rides', request);
        expect(first.status).toBe(502);

        const retry = await sample.post('/rides', request);
        expect(retry.status).toBe(201);
        const { id, chargeId } = retry.json();
        expect(await chargesFor(id)).toMatchObject([{ id: chargeId }]);
        const again = await sample.post('/rides', request);
        expect(again.text).toBe(retry.text);
        expect(
          await sample.database.query(
            `SELECT count(*)::int AS rides FROM rides JOIN idempotency_keys k
                 ON k.id = idempotency_key_id WHERE k.key = $1`,
            [request.key],
          ),
        ).toEqual([{ rides: 1 }]);
      },
    );
  });
});
