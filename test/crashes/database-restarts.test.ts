import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { barrier } from '../support/barrier.js';
import type { Received } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { createRestartableWorld, type RestartableWorld } from './restartable-world.js';
import { ONE_RIDE, outliveLease, requestRide, startRides, tracesOf } from './rides.js';

/** More than there are connections. */
const CROWD = 40;

let world: RestartableWorld;
beforeAll(async () => {
  world = await createRestartableWorld();
});
afterAll(() => world.close());

forEachPlatform('Crashes of the database', (platform) => {
  let rides: TestApp;
  beforeAll(async () => {
    rides = await startRides(platform, {
      databaseUrl: world.database.url,
      paymentsUrl: world.provider.url,
    });
  });
  afterAll(() => rides.close());

  /** The fault points of an undisturbed request. */
  async function faultPoints(): Promise<string[]> {
    const points: string[] = [];
    const stopObserving = observeFaultPoints(({ name }) => void points.push(name));
    const answer = await requestRide(rides, `${platform.name}-undisturbed`).finally(stopObserving);
    expect(answer.status).toBe(201);
    return points;
  }

  /** The request continues as soon as the server is down, and has to handle that. */
  async function rideWithCrashAt(point: string, key: string): Promise<Received> {
    let up: Promise<void> | undefined;
    const stopObserving = observeFaultPoints(({ name }) => {
      if (name !== point || up) return;
      const crash = world.crash();
      up = crash.up;
      return crash.down;
    });
    const answer = await requestRide(rides, key).finally(stopObserving);
    expect(up).toBeDefined();
    await up;
    return answer;
  }

  async function expectOneRide(key: string, first: Received): Promise<void> {
    let answer = first;
    // A crash may lose a reservation that nothing has followed yet: the client sends it again.
    const isLost = () => answer.status === 409 && answer.json().code === 'lease_lost';
    for (let retries = 0; (answer.status >= 500 || isLost()) && retries < 5; retries++) {
      await outliveLease(world.database, key);
      answer = await requestRide(rides, key);
    }
    expect({ key, status: answer.status }).toEqual({ key, status: 201 });
    expect(await tracesOf(world, key)).toEqual(ONE_RIDE);
    const replay = await requestRide(rides, key);
    expect([replay.status, replay.text]).toEqual([201, answer.text]);
  }

  it('at any statement of a ride: the ride is made once', async () => {
    for (const point of await faultPoints()) {
      const key = `${platform.name}-${point}`;
      await expectOneRide(key, await rideWithCrashAt(point, key));
    }
  });

  it('while the provider charges: the ride is made once', async () => {
    const key = `${platform.name}-call`;
    await world.provider.control.next('hold_after');
    const answer = requestRide(rides, key);
    await world.provider.control.untilHeld();
    const { down, up } = world.crash();
    await down;
    await world.provider.control.release();
    await up;
    await expectOneRide(key, await answer);
  });

  it('with full queues: each ride is made once', async () => {
    const keysOf = (what: string) =>
      Array.from({ length: CROWD }, (_, i) => `${platform.name}-${what}-${i}`);
    const ending = keysOf('ending');
    const arriving = keysOf('arriving');
    const gate = barrier();
    const stopObserving = observeFaultPoints(({ name }) =>
      name === 'recording:before' ? gate.pass() : undefined,
    );
    const answers = new Map<string, Promise<Received>>();
    try {
      for (const key of ending) answers.set(key, requestRide(rides, key));
      await gate.arrived(CROWD);
      const { down, up } = world.crash();
      await down;
      // All of these want to be recorded, and all of those to be reserved.
      gate.open();
      for (const key of arriving) answers.set(key, requestRide(rides, key));
      await up;
      await Promise.all(answers.values());
    } finally {
      stopObserving();
    }
    for (const [key, answer] of answers) await expectOneRide(key, await answer);
  });
});
