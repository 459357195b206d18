import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { expectRetryable } from '../support/refusals.js';
import type { ServerProcess } from '../support/server-process.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { createWorld, ONE_RIDE, outliveLease, requestRide, tracesOf, type World } from './rides.js';

/** Before the charge, and with a charge of which only the provider knows. */
const POINTS = ['ride_created:after_commit', 'charge_created:after_call'];

let world: World;
let survivors: ServerProcess[];

beforeAll(async () => {
  world = await createWorld();
  const [mortal, ...others] = await Promise.all(
    (['express', 'express', 'fastify'] as const).map(world.startProcess),
  );
  survivors = others;
  const cut: Promise<void>[] = [];
  for (const point of POINTS) {
    await mortal!.ask('stopAt', point);
    cut.push(expect(requestRide(mortal!, point)).rejects.toThrow());
    await mortal!.event('stopped');
  }
  await mortal!.kill();
  await Promise.all(cut);
});
afterAll(() => world.close());

describe('Two takeovers of one ride', () => {
  it.each(POINTS)('at %s: one of the two processes wins', async (point) => {
    const { database } = world;
    await outliveLease(database, point);
    // Both have found the key abandoned, and are about to read its phases.
    const race = await withTransaction(database, async (tx) => {
      await tx.query('LOCK TABLE idempotency_phases IN ACCESS EXCLUSIVE MODE');
      await world.provider.control.next('hold_before');
      const answers = survivors.map((survivor) => requestRide(survivor, point));
      await untilBlocked(database, survivors.length);
      return answers;
    });
    await world.provider.control.untilHeld();
    const loser = await Promise.race(race);
    expectRetryable(loser, 409, 'in_progress');
    await world.provider.control.release();
    const [winner, ...others] = (await Promise.all(race)).filter((answer) => answer !== loser);
    expect(others).toEqual([]);
    expect(winner!.status).toBe(201);

    expect(await keyRow(database, point)).toMatchObject({ status: 'completed', attempt: 2 });
    expect(await tracesOf(world, point)).toEqual(ONE_RIDE);
    for (const survivor of survivors) {
      expect((await requestRide(survivor, point)).text).toBe(winner!.text);
    }
  });
});
