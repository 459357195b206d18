import { randomBytes, randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { PLAIN } from '../../lib/encryption/plain-cipher.js';
import { Database } from '../../lib/postgres/database.js';
import type { Lane } from '../../lib/postgres/lane.js';
import { DistributedKeyStore } from '../../lib/keys/distributed-key-store.js';
import { KeyStore } from '../../lib/keys/key-store.js';
import type { KeyOutcome } from '../../lib/keys/key-outcome.js';
import type { Reservation, ReserveResult } from '../../lib/keys/reservation.js';
import { KeyTransitions } from '../../lib/keys/key-transitions.js';
import { LeaseStore } from '../../lib/keys/lease-store.js';
import { DistributedPhaseStore } from '../../lib/phases/distributed-phase-store.js';
import { PhaseStore } from '../../lib/phases/phase-store.js';
import { Observation } from '../../lib/telemetry/observation.js';
import type { PreparedStatement } from '../../lib/postgres/prepared-statement.js';
import { onCluster } from './cluster.js';

export interface OpenKeyStore {
  store: KeyStore;
  transitions: KeyTransitions;
  leases: LeaseStore;
  phases: PhaseStore;
  /** What the store sends its statements to. */
  statements: Database;
  /** Every statement that the store has sent. */
  sent: { sql: string; parameters: unknown[] }[];
  close(): Promise<void>;
}

/** The store alone, on connections of its own, for what no request can show. */
export async function openKeyStore(url: string, distributed = onCluster): Promise<OpenKeyStore> {
  const dataSource = new DataSource({ type: 'postgres', url });
  await dataSource.initialize();
  const sent: OpenKeyStore['sent'] = [];
  const database = new (class extends Database {
    override query<Row>(
      statement: string | PreparedStatement,
      parameters: unknown[],
      lane?: Lane,
    ): Promise<Row[]> {
      sent.push({ sql: typeof statement === 'string' ? statement : statement.text, parameters });
      return super.query(statement, parameters, lane);
    }
  })(dataSource, 10_000, undefined, false, distributed);
  return {
    store: distributed ? new DistributedKeyStore(database) : new KeyStore(database),
    transitions: new KeyTransitions(database),
    leases: new LeaseStore(database),
    phases: distributed ? new DistributedPhaseStore(database) : new PhaseStore(database),
    statements: database,
    sent,
    async close() {
      await database.close();
      await dataSource.destroy();
    },
  };
}

export function reservationOf(key: string, fields: Partial<Reservation> = {}): Reservation {
  return {
    scope: 'tests',
    endpoint: '',
    key,
    fingerprint: randomBytes(32),
    owner: randomUUID(),
    lease: 30_000,
    retention: 86_400_000,
    onAbandoned: 'unknown',
    onExpired: 'forget',
    asked: { method: 'POST', route: '/orders', path: '/orders' },
    cipher: PLAIN,
    observed: new Observation('OrdersController.create'),
    ...fields,
  };
}

/**
 * A finished attempt at a reservation.
 *
 * @param result what came of the reservation
 */
export function outcomeOf(
  { scope, owner }: Reservation,
  result: ReserveResult | undefined,
  fields: Partial<KeyOutcome> = {},
): KeyOutcome {
  if (result?.kind !== 'reserved') throw new Error('The key was not reserved.');
  return {
    scope,
    id: result.id,
    owner,
    status: 'completed',
    responseStatus: 201,
    responseHeaders: {},
    responseBody: Buffer.from('made'),
    responseVersion: 1,
    errorCode: null,
    retention: 86_400_000,
    resumeIn: null,
    ...fields,
  };
}
