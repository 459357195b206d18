import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';
import {
  createWorld,
  ONE_RIDE,
  outliveLease,
  requestRide,
  tracesOf,
  type World,
} from './rides.js';
import { startRides } from './rides.js';
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
  /** What an undisturbed request sends. */
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

  it('x', async () => {
    console.log(statements.map((s) => s.replace(/\s+/g, ' ').slice(0, 110)).join('\n'));
    for (const when of ['before', 'after', 'lost'] as const) {
      for (let n = 1; n <= statements.length; n++) {
        const key = `${platform.name}-${when}-${n}`;
        let lost: Promise<void> | undefined;
        if (when === 'lost') {
          let seen = 0;
          lost = proxy.loseReply({ test: () => ++seen === n });
        } else faults.terminate(n, when);
        const t = Date.now();
        const first = await requestRide(rides, key);
        const ms = Date.now() - t;
        let retry = first;
        if (first.status !== 201) {
          await outliveLease(world.database, key);
          retry = await requestRide(rides, key);
        }
        console.log(
          when,
          n,
          statements[n - 1]!.replace(/\s+/g, ' ').slice(0, 50),
          ms,
          first.status,
          first.status === 201 ? '' : first.text,
          retry.status,
          JSON.stringify(await tracesOf(world, key)),
          faults.happened,
        );
        await lost;
      }
    }
    expect(ONE_RIDE).toBeDefined();
  });
});
