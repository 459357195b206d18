import type { DataSource } from 'typeorm';
import type { HealthStore } from '../../operator/health-store.js';
import type { Database } from '../../postgres/database.js';
import { ALL_SCOPES } from '../../postgres/scopes.js';
import { NO_BREAKER } from '../../postgres/store-breaker.js';

/** Has subscribers, so that guards can be installed, and nothing to subscribe to. */
export const NO_DATA_SOURCE = { subscribers: [], manager: {} } as unknown as DataSource;

/** For what works on tables and has no fake: it says so when it is asked to. */
export const NO_DATABASE: Database = {
  table: (name: string) => name,
  distributed: false,
  scopes: ALL_SCOPES,
  breaker: NO_BREAKER,
  separatesScopes: false,
  for: () => NO_DATABASE,
  query: async () => {
    throw new Error(
      'This needs the tables of the module, and provideIdempotencyForTests() has none. Test it with IdempotencyModule.forRoot() and a database.',
    );
  },
} as unknown as Database;

/** A health check in a unit test finds everything in order. */
export const NOTHING_WRONG: Pick<HealthStore, 'look'> = {
  look: async () => ({ missing: [], readOnly: false, unknown: 0, outboxLag: 0, expiredFor: 0 }),
};
