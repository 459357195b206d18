import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { resolvePolicy } from '../idempotency.policy.js';
import { IdempotencySettings } from '../idempotency.settings.js';
import { DATA_SOURCE } from '../idempotency.tokens.js';
import { Database } from '../postgres/database.js';
import { KeyStore } from '../keys/key-store.js';
import { LeaseKeeper } from '../keys/lease-keeper.js';
import { MaintenanceStore } from '../keys/maintenance-store.js';
import { ReaperStore } from '../keys/reaper-store.js';
import { UnknownStore } from '../keys/unknown-store.js';
import { WaitingRoom } from '../keys/waiting-room.js';
import { OperatorStore } from '../operator/operator-store.js';
import { CommitWatch } from '../outbox/commit-watch.js';
import { OutboxHandlers } from '../outbox/outbox-handlers.js';
import { OutboxRoutes } from '../outbox/outbox-routes.js';
import { OutboxStore } from '../outbox/outbox-store.js';
import { OutboxWorker } from '../outbox/outbox-worker.js';
import { Outbox } from '../outbox/outbox.js';
import { PhaseStore } from '../phases/phase-store.js';
import { Reconcilers } from '../phases/reconciler.js';
import { renderProblem } from '../response/render-problem.js';
import { abandoned } from '../response/refusals.js';
import { Completer } from './completer.js';
import { Maintenance } from './maintenance.js';
import { OperationRunner } from './operation-runner.js';
import { Reaper } from './reaper.js';
import { Operations } from './resumable.js';
import { SweeperStore } from './sweeper-store.js';
import { Sweeper } from './sweeper.js';
import { UnknownReconciler } from './unknown-reconciler.js';

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
    provide: CommitWatch,
    useFactory: (maintenance: Maintenance) => new CommitWatch(() => maintenance.wake('outbox')),
    inject: [Maintenance],
  },
  {
    provide: Outbox,
    useFactory: (
      dataSource: DataSource,
      store: OutboxStore,
      commits: CommitWatch,
      maintenance: Maintenance,
    ) => new Outbox(dataSource, store, commits, () => maintenance.wake('outbox')),
    inject: [DATA_SOURCE, OutboxStore, CommitWatch, Maintenance],
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
      Database,
      OperatorStore,
      Reconcilers,
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
  database: Database,
  operatorStore: OperatorStore,
  reconcilers: Reconcilers,
): Maintenance {
  const { maintenance: jobs, guard } = settings;
  const maintenance = new Maintenance(jobs);
  const policy = resolvePolicy(settings.dialect, [settings.policy], 'forRoot options');

  const sweeper = new Sweeper(
    new SweeperStore(database),
    keys,
    phases,
    jobs.sweeper.interval / 2,
    () => maintenance.wake('completer'),
  );
  maintenance.add('sweeper', sweeper);

  const { maxAttempts } = jobs.completer;
  const tools = { keys, phases, leases, waitingRoom, operations };
  const runner = new OperationRunner(tools, policy, guard, maxAttempts);
  const wakeCompleter = () => maintenance.wake('completer');
  const completer = new Completer(
    store,
    keys,
    operations,
    runner,
    maxAttempts,
    policy.lease,
    wakeCompleter,
  );
  maintenance.add('completer', completer);

  const reconciler = new UnknownReconciler(
    new UnknownStore(database),
    operatorStore,
    reconcilers,
    jobs.reconciler.maxAttempts,
    () => maintenance.wake('completer'),
  );
  maintenance.add('reconciler', reconciler);

  const closing = renderProblem(abandoned(), settings);
  const reaper = new Reaper(new ReaperStore(database), closing, (job) => maintenance.wake(job));
  maintenance.add('reaper', reaper);

  const routes = new OutboxRoutes(outboxHandlers, settings.outbox.transport);
  const wake = () => maintenance.wake('outbox');
  maintenance.add('outbox', new OutboxWorker(outboxStore, routes, settings.outbox, wake));
  return maintenance;
}
