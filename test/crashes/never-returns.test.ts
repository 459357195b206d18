import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeDue, messages } from '../outbox/messages.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import {
  BEFORE_THE_FIRST_PHASE,
  createWorld,
  killAtEach,
  NO_RIDE,
  ONE_RIDE,
  outliveLease,
  requestRide,
  tracesOf,
  type World,
} from './rides.js';

let world: World;

beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

forEachPlatform('Rides whose client never returns', (platform) => {
  let workers: ServerProcess[];
  let mortal: ServerProcess;
  let points: string[];
  const keyOf = (point: string) => `${platform.name} ${point}`.replaceAll(' ', '-');

  /** A job in all processes at once, as it happens when nobody coordinates them. */
  const runEverywhere = (job: string) =>
    Promise.all(workers.map((worker) => worker.ask<number>('runJob', job)));

  beforeAll(async () => {
    workers = await Promise.all([platform.name, platform.name].map(world.startProcess));
    mortal = await world.startProcess(platform.name);
    expect((await requestRide(mortal, keyOf('undisturbed'))).status).toBe(201);
    points = await mortal.ask<string[]>('passed');
    await killAtEach(points, mortal, keyOf);
    for (const point of points) await outliveLease(world.database, keyOf(point));
  });

  it('are completed by the surviving processes, and none by two of them', async () => {
    await runEverywhere('sweeper');
    const unfinished = points.filter(
      (point) => ![...BEFORE_THE_FIRST_PHASE, 'recording:after'].includes(point),
    );
    let completed = 0;
    for (let found = 1; found > 0; completed += found) {
      found = (await runEverywhere('completer')).reduce((sum, handled) => sum + handled);
    }
    expect(completed).toBe(unfinished.length);

    for (const point of points) {
      const traces = await tracesOf(world, keyOf(point));
      const { status, operation } = await keyRow(world.database, keyOf(point));
      if (BEFORE_THE_FIRST_PHASE.includes(point)) {
        // Nothing is on record that could be completed, and nothing has happened.
        expect({ point, status, traces }).toEqual({
          point,
          status: 'failed_retryable',
          traces: NO_RIDE,
        });
      } else {
        expect({ point, operation, traces }).toEqual({
          point,
          operation: 'rides.create',
          traces: ONE_RIDE,
        });
      }
    }
  });

  it('get their receipt by mail once', async () => {
    await makeDue(world.database);
    while ((await messages(world.database)).length > 0) await runEverywhere('outbox');
    const rides = await world.database.query<{ id: string }>('SELECT id FROM rides');
    const receipts = await world.provider.control.receipts();
    expect(receipts.map(({ description }) => description).toSorted()).toEqual(
      rides.map(({ id }) => `Receipt for ride ${id}`).toSorted(),
    );
  });

  it('are there for a client that returns after all', async () => {
    for (const point of points) {
      const answers = [];
      for (const worker of workers) answers.push(await requestRide(worker, keyOf(point)));
      const [answer, replay] = answers;
      expect([point, answer!.status]).toEqual([point, 201]);
      expect(replay!.body).toEqual(answer!.body);
      expect(await tracesOf(world, keyOf(point))).toEqual(ONE_RIDE);
    }
  });
});
