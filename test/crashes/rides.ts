import { expect } from '@jest/globals';
import { AppModule } from '../../sample-app/app.module.js';
import { migrate } from '../../sample-app/database/migrate.js';
import {
  startPaymentProvider,
  type PaymentProvider,
} from '../sample-app/payment-provider-process.js';
import { createTestDatabase, type Queryable, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import type { PlatformName } from '../support/listen.js';
import type { Platform, TestApp } from '../support/platforms.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { passTime } from '../support/time.js';

/** All that a request for a ride has left behind, wherever it is kept. */
export interface Traces {
  rides: number;
  auditRecords: number;
  receipts: number;
  /** In the provider's own books. */
  charges: number;
}

export const NO_RIDE: Traces = { rides: 0, auditRecords: 0, receipts: 0, charges: 0 };
export const ONE_RIDE: Traces = { rides: 1, auditRecords: 1, receipts: 1, charges: 1 };

/** What several processes of Rocket Rides share: a database and a payment provider. */
export interface World {
  database: TestDatabase;
  provider: PaymentProvider;
  startProcess(platform: PlatformName): Promise<ServerProcess>;
  close(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const [database, provider] = await Promise.all([createTestDatabase(), startPaymentProvider()]);
  await migrate(database.url);
  return {
    database,
    provider,
    startProcess: (platform) =>
      startServer('test/servers/rocket-rides', {
        platform,
        env: {
          DATABASE_URL: database.url,
          PAYMENTS_URL: provider.url,
          // A test says when, by `runJob`, or the completer would race with its retries.
          MAINTENANCE: 'off',
        },
      }),
    async close() {
      await provider.close();
      await database.drop();
    },
  };
}

/** Rocket Rides in this process, where a test can watch its connections. */
export function startRides(
  platform: Platform,
  urls: { databaseUrl: string; paymentsUrl: string },
): Promise<TestApp> {
  const module = AppModule.forRoot({
    ...urls,
    platform: platform.name,
    port: 0,
    paymentsTimeoutMs: 30_000,
    lease: '30s',
    // Only the statements of the requests themselves are to be seen.
    maintenance: false,
  });
  // The tests provoke errors that the app is right to log, and nobody needs to read.
  return platform.start({ imports: [module] }, { logger: false });
}

/** Asks a process for a ride to the moon, the same for every key. */
export function requestRide(
  { url }: { url: string },
  key: string,
  signal?: AbortSignal,
): Promise<Received> {
  return send(`${url}/rides`, {
    key,
    body: { origin: 'earth', target: 'moon' },
    headers: { authorization: 'Bearer token-of-ada' },
    ...(signal && { signal }),
  });
}

/** Before the first phase is on record, there is nothing that a worker could complete. */
export const BEFORE_THE_FIRST_PHASE = ['reserved', 'ride_created:before_commit'];

/**
 * One process, one request at each of its fault points, then SIGKILL: what each
 * of them leaves is the same as if it had been alone.
 */
export async function killAtEach(
  points: readonly string[],
  mortal: ServerProcess,
  keyOf: (point: string) => string,
): Promise<void> {
  const cut: Promise<void>[] = [];
  for (const point of points) {
    await mortal.ask('stopAt', point);
    cut.push(expect(requestRide(mortal, keyOf(point))).rejects.toThrow());
    expect(await mortal.event('stopped')).toBe(point);
  }
  await mortal.kill();
  await Promise.all(cut);
}

/** The lease of a key lapses, of which nobody takes care any more. */
export function outliveLease(database: Queryable, key: string): Promise<void> {
  return passTime(database, key, '31 seconds');
}

/** What there is of a key, or of all keys together, which also finds what belongs to none. */
export async function tracesOf(
  { database, provider }: { database: Queryable; provider: PaymentProvider },
  key?: string,
): Promise<Traces> {
  const [row] = await database.query<
    Pick<Traces, 'rides' | 'auditRecords'> & { ids: string[]; staged: string[] }
  >(
    `WITH r AS (
       SELECT r.id FROM rides r LEFT JOIN idempotency_keys k ON k.id = r.idempotency_key_id
       WHERE $1::text IS NULL OR k.key = $1
     )
     SELECT (SELECT count(*)::int FROM r) AS "rides",
            (SELECT coalesce(array_agg(id::text), '{}') FROM r) AS "ids",
            (SELECT count(*)::int FROM audit_records
             WHERE $1::text IS NULL OR subject IN (SELECT 'ride/' || id FROM r)) AS "auditRecords",
            (SELECT coalesce(array_agg(id::text), '{}') FROM idempotency_outbox
             WHERE $1::text IS NULL OR payload->>'rideId' IN (SELECT id::text FROM r)) AS "staged"`,
    [key],
  );
  const { ids, staged, ...traces } = row!;
  const isOf = (description: string, what: string) =>
    key === undefined || ids.some((id) => description === `${what} ${id}`);
  const [charges, receipts] = await Promise.all([
    provider.control.charges(),
    provider.control.receipts(),
  ]);
  const mailed = receipts
    .filter(({ description }) => isOf(description, 'Receipt for ride'))
    .map(({ idempotencyKey }) => idempotencyKey);
  return {
    ...traces,
    // Messages, on their way or mailed, or both for a moment.
    receipts: new Set([...staged, ...mailed]).size,
    charges: charges.filter(({ description }) => isOf(description, 'Ride')).length,
  };
}
