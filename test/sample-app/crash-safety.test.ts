import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { ONE_RIDE, tracesOf, type Traces } from '../crashes/rides.js';
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

  it('holds for a ride at every fault point', async () => {
    const traces = new Map<string, Traces>();
    const { runs } = await verifyCrashSafety(sample.app, REQUEST, {
      unknown: 'fail',
      afterEach: async ({ key }) => void traces.set(key, await tracesOf(sample, key)),
    });
    expect(runs.length).toBeGreaterThan(10);
    for (const { crashedAt, key, answer } of runs) {
      expect({ crashedAt, status: answer?.status, traces: traces.get(key) }).toEqual({
        crashedAt,
        status: 201,
        traces: ONE_RIDE,
      });
    }
    // What the provider has booked belongs to a ride, all of it.
    const total = await tracesOf(sample);
    expect(total.charges).toBe(total.rides);
  });

  it('holds for a declined ride at every fault point', async () => {
    const request = { ...REQUEST, body: { ...REQUEST.body, card: 'card_declined' } };
    const { runs } = await verifyCrashSafety(sample.app, request, { unknown: 'fail' });
    expect(new Set(runs.map(({ answer }) => answer!.status))).toEqual(new Set([402]));
  });
});
