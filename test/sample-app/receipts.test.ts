import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeDue, message, messages } from '../outbox/messages.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const RIDE = { origin: 'earth', target: 'moon' };

forEachPlatform('Rocket Rides', (platform) => {
  describe('The receipt of a ride', () => {
    let sample: RocketRides;
    beforeAll(async () => {
      sample = await startRocketRides(platform);
    });
    afterAll(() => sample.close());

    it.each(['drop_before', 'drop_after', 'error_after'] as const)(
      'is mailed once, under the id of its message, when the provider does "%s"',
      async (behaviour) => {
        const { control } = sample.provider;
        await control.nextReceipts(behaviour);
        const ride = await sample.post('/rides', { key: behaviour, body: RIDE });
        expect(ride.status).toBe(201); // which does not wait for the receipt
        const failed = await until(async () => {
          const [found] = await messages(sample.database);
          return found?.last_error ? found : undefined;
        });
        expect(failed).toMatchObject({
          topic: 'receipts.send',
          payload: { rideId: ride.json().id, email: 'ada@example.com', amount: 4900 },
          attempts: 1,
        });
        const mailed = async () =>
          (await control.receipts()).filter(({ idempotencyKey }) => idempotencyKey === failed.id);
        expect(await mailed()).toHaveLength(behaviour === 'drop_before' ? 0 : 1);

        await makeDue(sample.database, failed.id);
        await until(async () => !(await message(sample.database, failed.id)));
        expect(await mailed()).toMatchObject([
          { email: 'ada@example.com', description: `Receipt for ride ${ride.json().id}` },
        ]);
      },
    );

    it('is sent by another process if this one does not deliver receipts', async () => {
      const web = await startRocketRides(platform, { maintenance: false });
      const ride = await web.post('/rides', { key: 'web', body: RIDE });
      expect(ride.status).toBe(201);
      expect(await messages(web.database)).toMatchObject([{ topic: 'receipts.send', attempts: 0 }]);
      expect(await web.provider.control.receipts()).toEqual([]);

      const worker = await web.startAnother({ maintenance: true });
      await until(async () => (await messages(web.database)).length === 0);
      expect(await web.provider.control.receipts()).toHaveLength(1);
      await worker.close();
      await web.close();
    });
  });
});
