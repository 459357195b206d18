import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyCoverage } from 'nestjs-atomic-idempotency';
import { lastValueFrom } from 'rxjs';
import { BOOK_RIDE } from '../../sample-app/rabbitmq/agency.controller.js';
import { agencyClient, takeBookings } from '../../sample-app/rabbitmq/queue.js';
import { RidesRabbitmqModule } from '../../sample-app/rabbitmq/rabbitmq.module.js';
import { onEachPlatform, type TestApp } from '../support/platforms.js';
import { hasRabbitMq, startBroker, type Broker } from '../support/rabbitmq.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const BOOKING = {
  agency: 'far-away-travel',
  reference: 'booking-0001',
  email: 'grace@example.com',
  origin: 'earth',
  target: 'moon',
};

const describeWithBroker = hasRabbitMq('The sample') ? describe : describe.skip;

describeWithBroker('Rocket Rides over RabbitMQ', () => {
  onEachPlatform(
    (platform) => {
      let broker: Broker;
      let sample: RocketRides;
      let app: TestApp;
      let client: ReturnType<typeof agencyClient>;
      beforeAll(async () => {
        broker = await startBroker();
        sample = await startRocketRides(platform, { maintenance: false });
        app = await sample.startAnother({}, [RidesRabbitmqModule]);
        await takeBookings(app.app, broker.url);
        client = agencyClient(broker.url);
      });
      afterAll(async () => {
        await client?.close();
        await sample?.close();
        await broker?.stop();
      });

      const book = (booking: object) => lastValueFrom(client.send<unknown>(BOOK_RIDE, booking));
      const charges = async () => (await sample.provider.control.charges()).length;

      it('has a decision for every entry point', () => {
        const coverage = app.app.get(IdempotencyCoverage, { strict: false });
        expect(coverage.missing).toEqual([]);
        expect(coverage.table()).toMatch(/^idempotent +rides\.book +AgencyController\.book/m);
      });

      it('charges once for a booking that is sent again', async () => {
        const first = await book(BOOKING);
        expect(first).toMatchObject({ fare: 4900, chargeId: expect.stringMatching(/^ch_/) });
        expect(await book(BOOKING)).toEqual(first);
        expect(await charges()).toBe(1);
      });

      it('charges once for a booking whose charge was answered by nobody', async () => {
        const before = await charges();
        const booking = { ...BOOKING, reference: 'booking-0002' };
        await sample.provider.control.next('drop_after');
        await expect(book(booking)).rejects.toBeDefined();
        expect(await book(booking)).toMatchObject({ fare: 4900, chargeId: expect.any(String) });
        expect(await charges()).toBe(before + 1);
      });

      it('tells an agency that used a reference for another booking', async () => {
        await expect(book({ ...BOOKING, target: 'mars' })).rejects.toMatchObject({
          code: 'key_reused',
        });
      });

      it('keeps the references of agencies apart', async () => {
        const before = await charges();
        await book({ ...BOOKING, agency: 'nearby-travel' });
        expect(await charges()).toBe(before + 1);
      });
    },
    ['express'],
  );
});
