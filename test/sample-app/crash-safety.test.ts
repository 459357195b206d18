import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { NO_RIDE, ONE_RIDE, tracesOf, type Traces } from '../crashes/rides.js';
import { forEachPlatform } from '../support/platforms.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const REQUEST = {
  path: '/rides',
  headers: { authorization: 'Bearer token-of-ada' },
  body: { origin: 'earth', target: 'moon' },
};

/** Before its first phase is on record, nobody can know what a dead handler did. */
const BEFORE_THE_FIRST_PHASE = ['reserved', 'ride_created:before_commit'];

forEachPlatform((platform) => {
  let sample: RocketRides;
  beforeAll(async () => {
    sample = await startRocketRides(platform, { maintenance: false });
  });
  afterAll(() => sample.close());

  it('a ride survives a crash at every point', async () => {
    const traces = new Map<string, Traces>();
    const { runs } = await verifyCrashSafety(sample.app, REQUEST, {
      afterEach: async ({ key }) => void traces.set(key, await tracesOf(sample, key)),
    });
    expect(runs.length).toBeGreaterThan(10);
    for (const { crashedAt, key, outcome, answer } of runs) {
      const unknowable = BEFORE_THE_FIRST_PHASE.includes(crashedAt ?? '');
      expect({ crashedAt, outcome, status: answer?.status, traces: traces.get(key) }).toEqual({
        crashedAt,
        outcome: unknowable ? 'unknown' : 'final',
        status: unknowable ? 409 : 201,
        traces: unknowable ? NO_RIDE : ONE_RIDE,
      });
    }
    // What the provider has booked belongs to a ride, all of it.
    const total = await tracesOf(sample);
    expect(total.charges).toBe(total.rides);
  });

  it('a declined ride is declined after a crash at every point', async () => {
    const { runs } = await verifyCrashSafety(sample.app, {
      ...REQUEST,
      body: { ...REQUEST.body, card: 'card_declined' },
    });
    const final = runs.filter(({ outcome }) => outcome === 'final');
    expect(new Set(final.map(({ answer }) => answer!.status))).toEqual(new Set([402]));
    const unknown = runs.filter(({ outcome }) => outcome === 'unknown');
    expect(unknown.map(({ crashedAt }) => crashedAt)).toEqual(BEFORE_THE_FIRST_PHASE);
  });
});
