import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';
import { createWorld, ONE_RIDE, requestRide, startRides, tracesOf, type World } from './rides.js';
import { StatementFaults } from './statement-faults.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

forEachPlatform((platform) => {
  let proxy: PostgresProxy;
  let rides: TestApp;
  let faults: StatementFaults;
  /** What an undisturbed request sends, from its reservation to its recording. */
  let statements: string[];

  beforeAll(async () => {
    proxy = await startPostgresProxy(world.database.url);
    rides = await startRides(platform, {
      databaseUrl: proxy.url,
      paymentsUrl: world.provider.url,
    });
    faults = new StatementFaults(rides.app.get(DataSource), world.database);
    proxy.statements.length = 0;
    expect((await requestRide(rides, `${platform.name}-undisturbed`)).status).toBe(201);
    statements = proxy.statements.map(({ sql }) => sql);
  });
  afterAll(async () => {
    await rides.close();
    await proxy.close();
  });

  /** A request of its own for each statement; `disturb` gets the statement's number, from 1. */
  async function expectOneRideEach(
    fault: string,
    disturb: (number: number) => { happened: () => boolean },
  ): Promise<void> {
    for (const [index, statement] of statements.entries()) {
      const key = `${platform.name}-${fault}-${index}`;
      const { happened } = disturb(index + 1);
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
  }

  it('a request is made of the statements that this is about', () => {
    for (const part of [
      /INSERT INTO "idempotency_keys"/,
      /^START TRANSACTION$/,
      /^INSERT INTO "rides"/,
      /recovery_point = [^]*INSERT INTO "idempotency_phases"/,
      /^COMMIT$/,
      /'intended'/,
      /response_body = /,
    ]) {
      expect(statements).toContainEqual(expect.stringMatching(part));
    }
  });

  it('a ride is made once if the connection of any statement ends before it', async () => {
    await expectOneRideEach('before', (number) => faults.terminate(number, 'before'));
  });

  it('a ride is made once if the connection of any statement ends after it', async () => {
    await expectOneRideEach('after', (number) => faults.terminate(number, 'after'));
  });

  it('a ride is made once if the reply to any statement is lost', async () => {
    await expectOneRideEach('lost', (number) => {
      let sent = 0;
      let lost = false;
      void proxy.loseReply({ test: () => ++sent === number }).then(() => (lost = true));
      return { happened: () => lost };
    });
  });
});
