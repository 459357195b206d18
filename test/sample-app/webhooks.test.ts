import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SAMPLE_SECRET } from '../../sample-app/configuration.js';
import { webhookEndpoint } from '../../sample-app/payments/webhook-endpoint.js';
import { send } from '../support/http.js';
import { auditOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const RIDE = { origin: 'earth', target: 'moon' };

forEachPlatform('Rocket Rides', (platform) => {
  describe('The webhook of the payment provider', () => {
    let sample: RocketRides;
    let key: string;
    beforeAll(async () => {
      sample = await startRocketRides(platform, { maintenance: false });
      await sample.provider.control.tellBy(webhookEndpoint(sample.url));
    });
    afterAll(() => sample.close());
    beforeEach(() => {
      key = randomUUID();
    });

    const charge = async () => {
      const [phase] = await sample.database.query(
        `SELECT p.state, p.effect_key FROM idempotency_phases p
           JOIN idempotency_keys k ON p.scope = k.scope AND p.key_id = k.id
          WHERE k.key = $1 AND p.name = 'charge_created'`,
        [key],
      );
      return phase!;
    };

    /** A webhook of our own making. */
    const tell = (idempotencyKey: string, secret = SAMPLE_SECRET) => {
      const event = { type: 'charge', charge: { id: 'ch_forged', amount: 4900, idempotencyKey } };
      const body = JSON.stringify(event);
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      return send(`${sample.url}/webhooks/payments`, {
        body,
        headers: { 'payments-signature': signature },
      });
    };

    it('reports a charge whose answer was lost, and the ride continues with it', async () => {
      await sample.provider.control.next('drop_after');
      expect((await sample.post('/rides', { key, body: RIDE })).status).toBe(502);
      await until(async () => (await charge()).state === 'reconciled');

      // Nobody has to be asked any more.
      await sample.provider.stop();
      const retry = await sample.post('/rides', { key, body: RIDE });
      await sample.provider.restart();
      await sample.provider.control.tellBy(webhookEndpoint(sample.url));
      expect(retry.status).toBe(201);
      const { id, chargeId } = retry.json();
      const charges = await sample.provider.control.charges();
      expect(charges.filter(({ description }) => description === `Ride ${id}`)).toMatchObject([
        { id: chargeId },
      ]);
      expect(await auditOf(sample.database, key)).toMatchObject([
        { who: 'payment provider', why: `webhook about ${chargeId}`, action: 'resolve' },
      ]);
    });

    it('reports a declined charge, and the retry gets the rejection', async () => {
      await sample.provider.control.next('error_after');
      const body = { ...RIDE, card: 'card_declined' };
      expect((await sample.post('/rides', { key, body })).status).toBe(502);
      await until(async () => (await charge()).state === 'rejected');
      const retry = await sample.post('/rides', { key, body });
      expect(retry.status).toBe(402);
      expect(retry.json()).toMatchObject({ reason: 'insufficient_funds' });
    });

    it('is asked to try again while the charge is under way', async () => {
      await sample.provider.control.next('hold_after');
      const ride = sample.post('/rides', { key, body: RIDE });
      await sample.provider.control.untilHeld();
      expect((await tell((await charge()).effect_key)).status).toBe(409);
      await sample.provider.control.release();
      expect((await ride).status).toBe(201);
      expect((await charge()).state).toBe('finished');
    });

    it('is accepted only with the signature of the provider', async () => {
      await sample.provider.control.next('drop_before');
      expect((await sample.post('/rides', { key, body: RIDE })).status).toBe(502);
      const { effect_key: effectKey } = await charge();
      expect((await tell(effectKey, 'another secret')).status).toBe(401);
      expect((await charge()).state).toBe('intended');
    });

    it('about something else changes nothing, and need not be sent again', async () => {
      const answer = await tell(randomUUID());
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ changed: false, reason: 'not_found' });
    });
  });
});
