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
  /**
   * The statements that are sent while `work` runs, by round trips: of three runs the one with the
   * fewest, because a job may be at work during another.
   */
  statementsOf(work: (run: number) => Promise<unknown>): Promise<string[]>;
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
      const seen: string[][] = [];
      for (let run = 0; run < 3; run++) {
        const before = proxy.trips.length;
        await work(run);
        const trips = proxy.trips.slice(before);
        seen.push(trips.map((trip) => trip.map(({ sql }) => sql).join(';\n')));
      }
      return seen.toSorted((a, b) => a.length - b.length)[0]!;
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
