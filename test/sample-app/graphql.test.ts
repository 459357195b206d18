import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { IdempotencyCoverage } from 'nestjs-atomic-idempotency';
import { RidesGraphqlModule } from '../../sample-app/graphql/graphql.module.js';
import { mutate, type Mutating } from '../graphql/shop.js';
import { crashIn } from '../support/crash.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const RIDE =
  'mutation { requestRide(origin: "earth", target: moon) { id origin target fare chargeId createdAt } }';

forEachPlatform('Rocket Rides over GraphQL', (platform) => {
  let sample: RocketRides;
  let app: TestApp;
  beforeAll(async () => {
    sample = await startRocketRides(platform, { maintenance: false });
    app = await sample.startAnother({}, [RidesGraphqlModule]);
  });
  afterAll(() => sample?.close());

  const asAda = (document: string, mutating: Mutating = {}) =>
    mutate(app.url, document, { ...mutating, headers: { authorization: 'Bearer token-of-ada' } });

  it('has a decision for every entry point', () => {
    const coverage = app.app.get(IdempotencyCoverage, { strict: false });
    expect(coverage.missing).toEqual([]);
    expect(coverage.table()).toMatch(/^idempotent +requestRide +RidesResolver\.requestRide/m);
  });

  it('charges once for a mutation and its retries', async () => {
    const first = await asAda(RIDE, { key: 'graphql' });
    expect(first.data.requestRide).toEqual({
      id: expect.any(String),
      origin: 'earth',
      target: 'moon',
      fare: 4900,
      chargeId: expect.stringMatching(/^ch_/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    const retry = await asAda(RIDE, { key: 'graphql' });
    expect(retry.data).toEqual(first.data);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(await sample.provider.control.charges()).toHaveLength(1);

    const { id } = first.data.requestRide;
    const { data } = await asAda(`{ ride(id: "${id}") { id target } }`);
    expect(data).toEqual({ ride: { id, target: 'moon' } });
  });

  it('answers a declined card the same each time', async () => {
    const document = RIDE.replace('moon', 'moon, card: "card_declined"');
    const first = await asAda(document, { key: 'declined' });
    expect(first.errors).toHaveLength(1);
    expect((await asAda(document, { key: 'declined' })).errors).toEqual(first.errors);
  });

  it('checks who asks and what, before the key is used', async () => {
    const stranger = await mutate(app.url, RIDE, { key: 'stranger' });
    expect(stranger.errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    const wrong = await asAda(RIDE.replace('moon', 'moon, card: "?"'), { key: 'checked' });
    expect(wrong.errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
    expect((await asAda(RIDE, { key: 'checked' })).errors).toBeUndefined();
  });

  it('has a ride finished by a worker if its client never comes back', async () => {
    const charged = (await sample.provider.control.charges()).length;
    await crashIn('charge_created:after_call', () => asAda(RIDE, { key: 'lost' }));
    await age(sample.database, 'lost');
    await runJob(app, 'sweeper');
    await age(sample.database, 'lost');
    await runJob(app, 'completer');
    const [row] = await sample.database.query(
      `SELECT status FROM idempotency_keys WHERE key = 'lost'`,
    );
    expect(row).toEqual({ status: 'performed' });
    const { data } = await asAda(RIDE, { key: 'lost' });
    expect(data.requestRide).toMatchObject({ fare: 4900, chargeId: expect.any(String) });
    expect(await sample.provider.control.charges()).toHaveLength(charged + 1);
  });
});
