import { DataSource } from 'typeorm';
import type { Platform } from '../support/platforms.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { startRides, type World } from './rides.js';
import { StatementFaults } from './statement-faults.js';

/** What can happen to a connection at one of its statements. */
export const DISTURBANCES = [
  'ends before the statement',
  'ends after the statement',
  'loses the reply to the statement',
] as const;

export type Disturbance = (typeof DISTURBANCES)[number];

/** Rocket Rides in this process, with connections that a test disturbs at a statement of its choice. */
export interface DisturbedRides {
  url: string;
  /** The statements that are sent while `work` runs, by round trips. */
  statementsOf(work: () => Promise<unknown>): Promise<string[]>;
  /** Disturbs the statements of the coming nth round trip, from 1. */
  disturb(disturbance: Disturbance, number: number): { happened: () => boolean };
  close(): Promise<void>;
}

export async function startDisturbedRides(
  platform: Platform,
  { database, provider }: World,
): Promise<DisturbedRides> {
  const proxy = await startPostgresProxy(database.url);
  const rides = await startRides(platform, {
    databaseUrl: proxy.url,
    paymentsUrl: provider.url,
  });
  const faults = new StatementFaults(rides.app.get(DataSource), database);

  return {
    url: rides.url,
    async statementsOf(work) {
      const before = proxy.trips.length;
      await work();
      return proxy.trips.slice(before).map((trip) => trip.map(({ sql }) => sql).join(';\n'));
    },
    disturb(disturbance, number) {
      if (disturbance === 'ends before the statement') return faults.terminate(number, 'before');
      if (disturbance === 'ends after the statement') return faults.terminate(number, 'after');
      let lost = false;
      const trip = proxy.trips.length + number;
      void proxy.loseReply({ test: () => proxy.trips.length === trip }).then(() => (lost = true));
      return { happened: () => lost };
    },
    async close() {
      await rides.close();
      await proxy.close();
    },
  };
}
