import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { ONE_RIDE, tracesOf } from '../crashes/rides.js';
import { forEachPlatform } from '../support/platforms.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const REQUEST = {
  path: '/rides',
  headers: { authorization: 'Bearer token-of-ada' },
  body: { origin: 'earth', target: 'moon' },
};

forEachPlatform('Crash safety of Rocket Rides', (platform) => {
  let sample: RocketRides;
  beforeAll(async () => {
    sample = await startRocketRides(platform, { maintenance: false });
  });
  afterAll(() => sample.close());

  /** What is in the tables and, over HTTP, in the ledger of the provider, which is another process. */
  const observe = async () => ({ ...(await tracesOf(sample)) });

  it('holds for a ride, whatever happens', async () => {
    const { runs } = await verifyCrashSafety(sample.app, REQUEST, {
      unknown: 'fail',
      observe,
      expected: { ...ONE_RIDE },
      expectStatus: 201,
    });
    // Where the provider has forgotten the key by right, nobody can know.
    const unknown = runs.filter(({ outcome }) => outcome !== 'final');
    expect(unknown.map(({ disturbance }) => disturbance)).toEqual([
      'crash at charge_created:after_call, retried 25 h later',
    ]);
    expect(runs.some(({ disturbance }) => disturbance.endsWith('a worker goes on'))).toBe(true);
    // What the provider has booked belongs to a ride, all of it.
    const total = await tracesOf(sample);
    expect(total.charges).toBe(total.rides);
  });

  it('holds for a declined ride, whatever happens', async () => {
    const request = { ...REQUEST, body: { ...REQUEST.body, card: 'card_declined' } };
    const options = { unknown: 'fail', expectStatus: 402, observe } as const;
    const { runs } = await verifyCrashSafety(sample.app, request, options);
    const final = runs.filter(({ outcome }) => outcome === 'final');
    expect(new Set(final.map(({ answer }) => answer!.status))).toEqual(new Set([402]));
  });

  it('holds for a tip, whose provider knows no keys: it is paid once, or nobody knows', async () => {
    const ride = await sample.post('/rides', { key: 'a-ride-to-tip', body: REQUEST.body });
    const { runs } = await verifyCrashSafety(sample.app, {
      ...REQUEST,
      path: `/rides/${ride.json().id}/tips`,
      body: { amount: 500 },
    });
    const unknown = runs.filter(({ outcome }) => outcome === 'unknown');
    expect(unknown.map(({ crashedAt }) => crashedAt)).toContain('tip_transferred:after_call');
  });
});
