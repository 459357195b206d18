import type { Provider } from '@nestjs/common';
import { resolvePolicy } from '../idempotency.policy.js';
import { IdempotencySettings } from '../idempotency.settings.js';
import { Database } from '../keys/database.js';
import { KeyStore } from '../keys/key-store.js';
import { LeaseKeeper } from '../keys/lease-keeper.js';
import { MaintenanceStore } from '../keys/maintenance-store.js';
import { WaitingRoom } from '../keys/waiting-room.js';
import { OutboxHandlers } from '../outbox/outbox-handlers.js';
import { OutboxStore } from '../outbox/outbox-store.js';
import { OutboxWorker } from '../outbox/outbox-worker.js';
import { Outbox } from '../outbox/outbox.js';
import { PhaseStore } from '../phases/phase-store.js';
import { Completer } from './completer.js';
import { Maintenance } from './maintenance.js';
import { Operations } from './resumable.js';
import { Sweeper } from './sweeper.js';

/** The work that goes on without a client. */
export const backgroundProviders: Provider[] = [
  Operations,
  OutboxHandlers,
  {
    provide: MaintenanceStore,
    useFactory: (db: Database) => new MaintenanceStore(db),
    inject: [Database],
  },
  { provide: OutboxStore, useFactory: (db: Database) => new OutboxStore(db), inject: [Database] },
  {
    provide: Outbox,
    useFactory: (store: OutboxStore, maintenance: Maintenance) =>
      new Outbox(store, () => maintenance.wake('outbox')),
    inject: [OutboxStore, Maintenance],
  },
  {
    provide: Maintenance,
    useFactory: createMaintenance,
    inject: [
      IdempotencySettings,
      MaintenanceStore,
      KeyStore,
      PhaseStore,
      LeaseKeeper,
      WaitingRoom,
      Operations,
      OutboxStore,
      OutboxHandlers,
    ],
  },
];

function createMaintenance(
  settings: IdempotencySettings,
  store: MaintenanceStore,
  keys: KeyStore,
  phases: PhaseStore,
  leases: LeaseKeeper,
  waitingRoom: WaitingRoom,
  operations: Operations,
  outboxStore: OutboxStore,
  outboxHandlers: OutboxHandlers,
): Maintenance {
  const { maintenance: jobs, guard } = settings;
  const maintenance = new Maintenance(jobs);
  const policy = resolvePolicy(settings.dialect, [settings.policy], 'forRoot options');

  const sweeper = new Sweeper(store, keys, phases, () => maintenance.wake('completer'));
  maintenance.add('sweeper', (batch) => sweeper.run(batch));

  const tools = { store, keys, phases, leases, waitingRoom, operations };
  const completer = new Completer(tools, policy, guard, jobs.completer.maxAttempts);
  maintenance.add('completer', (batch) => completer.run(batch));

  const transport = settings.outbox.transport ?? outboxHandlers;
  const worker = new OutboxWorker(outboxStore, transport, jobs.outbox.maxAttempts);
  maintenance.add('outbox', (batch) => worker.run(batch));
  return maintenance;
}
