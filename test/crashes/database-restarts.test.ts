import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import type { Received } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { createRestartableWorld, type RestartableWorld } from './restartable-world.js';
import { ONE_RIDE, outliveLease, requestRide, startRides, tracesOf } from './rides.js';

let world: RestartableWorld;
beforeAll(async () => {
  world = await createRestartableWorld();
});
afterAll(() => world.close());

forEachPlatform((platform) => {
  let rides: TestApp;
  beforeAll(async () => {
    rides = await startRides(platform, {
      databaseUrl: world.database.url,
      paymentsUrl: world.provider.url,
    });
  });
  afterAll(() => rides.close());

  /** The request goes on as soon as the server is down, and has to do with it. */
  async function rideWithCrashAt(point: string, key: string) {
    let up: Promise<void> | undefined;
    const stopObserving = observeFaultPoints(({ name }) => {
      if (name !== point || up) return;
      const crash = world.crash();
      up = crash.up;
      return crash.down;
    });
    try {
      const answer = await requestRide(rides, key);
      expect(up).toBeDefined();
      await up;
      return answer;
    } finally {
      stopObserving();
    }
  }

  async function rideWithCrashDuringTheCall(key: string) {
    await world.provider.control.next('hold_after');
    const answer = requestRide(rides, key);
    await world.provider.control.untilHeld();
    const { down, up } = world.crash();
    await down;
    await world.provider.control.release();
    await up;
    return answer;
  }

  async function expectOneRide(key: string, first: Received) {
    let final = first;
    for (let retry = 0; final.status !== 201 && retry < 5; retry++) {
      await outliveLease(world.database, key);
      final = await requestRide(rides, key);
    }
    expect(final.status).toBe(201);
    expect(await tracesOf(world, key)).toEqual(ONE_RIDE);
    const replay = await requestRide(rides, key);
    expect([replay.status, replay.text]).toEqual([201, final.text]);
  }

  it.each([
    { when: 'in the middle of a local phase', point: 'ride_created:before_commit' },
    { when: 'between the charge and its record', point: 'charge_created:after_call' },
    { when: 'while the charge is recorded', point: 'charge_created:before_commit' },
    { when: 'before the answer is recorded', point: 'recording:before' },
  ])('a ride is made once when the database crashes $when', async ({ point }) => {
    const key = `${platform.name}-${point}`;
    const t = Date.now();
    const first = await rideWithCrashAt(point, key);
    console.log(point, first.status, Date.now() - t);
    await expectOneRide(key, first);
  });

  it('a ride is made once when the database crashes in the middle of the charge', async () => {
    const key = `${platform.name}-call`;
    const first = await rideWithCrashDuringTheCall(key);
    console.log(first.status);
    await expectOneRide(key, first);
  });
});
