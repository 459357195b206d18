import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FAULT_STEPS } from 'nestjs-atomic-idempotency/testing';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { startRides, type RidesApp } from './rides-app.js';

/** From the first recorded phase on, a worker knows what to do. */
const POINTS = [
  'ride_created:after_commit',
  'charge_created:before_intent',
  'charge_created:after_intent',
  'charge_created:after_call',
  'charge_created:before_commit',
  'charge_created:after_commit',
  'recording:before',
];

describe('Fault points of a ride', () => {
  it('cover every step after the first phase', () => {
    const steps = POINTS.map((point) => point.replace(/^(ride|charge)_created:/, ''));
    expect(FAULT_STEPS.filter((step) => !steps.includes(step))).toEqual([
      'reserved', // nothing was recorded yet
      'recording:after', // nothing is left to do
    ]);
  });
});

forEachPlatform('Completion without the client', (platform) => {
  let app: RidesApp;
  beforeAll(async () => {
    app = await startRides(platform);
  });
  afterAll(() => app.close());

  it.each(POINTS)('finishes a ride whose process died at %s', async (key) => {
    const before = { rides: await app.countRides(), charges: app.provider.charges.length };
    await app.crash(key, key);

    expect(await runJob(app, 'sweeper')).toBe(1);
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'failed_retryable',
      operation: 'rides.create',
      input: { target: 'mars' },
    });
    expect(await runJob(app, 'completer')).toBe(1);
    expect(await app.countRides()).toBe(before.rides + 1);
    expect(app.provider.charges).toHaveLength(before.charges + 1);
    expect(await runJob(app, 'completer')).toBe(0);

    // The client comes back after all: nothing runs, the answer is made and kept.
    const { runs } = app.rides;
    const answer = await app.request(key);
    expect(answer.status).toBe(201);
    expect(answer.json()).toMatchObject({ charge: app.provider.charges.at(-1) });
    expect(app.rides.runs).toBe(runs);
    const replay = await app.request(key);
    expect(replay.body).toEqual(answer.body);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });
});
