import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { onCluster } from '../support/cluster.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { DISTURBANCES, startDisturbedRides, type DisturbedRides } from './disturbed-rides.js';
import { createWorld, ONE_RIDE, requestRide, tracesOf, type World } from './rides.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

forEachPlatform('Terminated connections', (platform) => {
  let rides: DisturbedRides;
  beforeAll(async () => {
    rides = await startDisturbedRides(platform, world);
  });
  afterAll(() => rides.close());

  describe('A ride, of local phases and a charge that may be repeated', () => {
    /** What an undisturbed request sends, from its reservation to its recording. */
    let statements: string[];
    beforeAll(async () => {
      statements = await rides.statementsOf((run) =>
        requestRide(rides, `${platform.name}-undisturbed-${run}`),
      );
    });

    it('sends the statements that these tests disturb', () => {
      for (const part of [
        /INSERT INTO "idempotency_keys"/,
        // On a cluster it is sent by itself.
        onCluster ? /^START TRANSACTION$/m : /^START TRANSACTION;$/m,
        /^INSERT INTO "rides"/m,
        /recovery_point = [^]*INSERT INTO "idempotency_phases"/,
        /^COMMIT$/m,
        /'intended'/,
        /response_body = /,
      ]) {
        expect(statements).toContainEqual(expect.stringMatching(part));
      }
    });

    it.each(DISTURBANCES)('is made once if the connection %s, at any statement', async (fault) => {
      for (const [index, statement] of statements.entries()) {
        const key = `${platform.name}-${fault}-${index}`.replaceAll(' ', '-');
        const { happened } = rides.disturb(fault, index + 1);
        const answer = await requestRide(rides, key);
        const traces = await tracesOf(world, key);
        // The request survives by itself: nobody has to retry it.
        expect({ statement, happened: happened(), status: answer.status, traces }).toEqual({
          statement,
          happened: true,
          status: 201,
          traces: ONE_RIDE,
        });
        const replay = await requestRide(rides, key);
        expect([replay.status, replay.text]).toEqual([201, answer.text]);
      }
    });
  });

  describe('A tip, of a transfer that must not be repeated', () => {
    let path: string;
    let statements: string[];
    /** Different for each tip, so that its transfers can be found. */
    let amount = platform.name === 'express' ? 1_000 : 2_000;

    const tip = (key: string, cents: number) =>
      send(`${rides.url}${path}`, {
        key,
        body: { amount: cents },
        headers: { authorization: 'Bearer token-of-ada' },
      });

    beforeAll(async () => {
      const ride = await requestRide(rides, `${platform.name}-tipped`);
      path = `/rides/${ride.json().id}/tips`;
      statements = await rides.statementsOf((run) => {
        amount += 1;
        return tip(`${platform.name}-tip-${run}`, amount);
      });
    });

    it.each(DISTURBANCES)('is made once if the connection %s, at any statement', async (fault) => {
      for (const [index, statement] of statements.entries()) {
        const key = `${platform.name}-tip-${fault}-${index}`.replaceAll(' ', '-');
        amount += 1;
        const { happened } = rides.disturb(fault, index + 1);
        let answer = await tip(key, amount);
        // Outside phases, a lost connection is an error of the application: it answers 500.
        if (answer.status === 500) answer = await tip(key, amount);

        const transfers = await world.provider.control.transfers();
        expect({
          statement,
          happened: happened(),
          status: answer.status,
          tips: await world.database.query('SELECT transfer_id FROM tips WHERE amount = $1', [
            amount,
          ]),
        }).toEqual({
          statement,
          happened: true,
          status: 201,
          tips: transfers
            .filter((transfer) => transfer.amount === amount)
            .map(({ id }) => ({ transfer_id: id })),
        });
        expect(transfers.filter((transfer) => transfer.amount === amount)).toHaveLength(1);
        const replay = await tip(key, amount);
        expect([replay.status, replay.text]).toEqual([201, answer.text]);
      }
    });
  });
});
