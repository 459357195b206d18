import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forEachPlatform } from '../support/platforms.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const RIDE = { key: 'ride', body: { origin: 'earth', target: 'moon' } };
const TIP = { key: 'tip', body: { amount: 300 } };

forEachPlatform('Rocket Rides', (platform) => {
  describe('While the payment provider is down', () => {
    let sample: RocketRides;
    let tips: string;
    beforeAll(async () => {
      sample = await startRocketRides(platform);
      const [earlier] = await sample.database.query(
        `INSERT INTO rides (user_id, origin, target, fare)
         VALUES ('ada', 'earth', 'moon', 4900) RETURNING id`,
      );
      tips = `/rides/${earlier?.['id']}/tips`;
      await sample.provider.stop();
    });
    afterAll(() => sample.close());

    const phases = (key: string) =>
      sample.database.query(
        `SELECT k.status, p.name, p.state FROM idempotency_keys k
           JOIN idempotency_phases p ON p.scope = k.scope AND p.key_id = k.id WHERE k.key = $1 ORDER BY position`,
        [key],
      );

    it('a call that was never made leaves nothing in doubt', async () => {
      expect((await sample.post('/rides', RIDE)).status).toBe(502);
      expect(await phases('ride')).toEqual([
        { status: 'failed_retryable', name: 'ride_created', state: 'finished' },
        { status: 'failed_retryable', name: 'charge_created', state: 'withdrawn' },
      ]);
      // Not even where a doubt would last forever.
      expect((await sample.post(tips, TIP)).status).toBe(502);
      expect(await phases('tip')).toEqual([
        { status: 'failed_retryable', name: 'tip_transferred', state: 'withdrawn' },
      ]);
    });

    it('nothing is paid twice once it is back', async () => {
      await sample.provider.restart();
      expect((await sample.post('/rides', RIDE)).status).toBe(201);
      expect((await sample.post(tips, TIP)).status).toBe(201);
      expect(await sample.provider.control.charges()).toHaveLength(1);
      expect(await sample.provider.control.transfers()).toHaveLength(1);
    });
  });
});
