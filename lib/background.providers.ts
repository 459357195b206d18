import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { resolvePolicy } from './policy/resolve-policy.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { DATA_SOURCE } from './tokens.js';
import { ColumnCiphers } from './encryption/column-cipher.js';
import { RecordedPhases } from './keys/recorded-phases.js';
import { KeyStore } from './keys/key-store.js';
import { KeyTransitions } from './keys/key-transitions.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { CompleterStore } from './background/completer-store.js';
import { StatusStore } from './background/status-store.js';
import { StatusStreams } from './background/status-streams.js';
import { OrphanedPhasesStore } from './background/orphaned-phases-store.js';
import { ReaperStore } from './background/reaper-store.js';
import { ReconcilerStore } from './background/reconciler-store.js';
import { WaitingRequests } from './keys/waiting-requests.js';
import { ResolutionStore } from './resolution/resolution-store.js';
import { CommitWatch } from './outbox/commit-watch.js';
import { DeadLetterStore } from './outbox/dead-letter-store.js';
import { DeliveryStore } from './outbox/delivery-store.js';
import { OutboxHandlers } from './outbox/outbox-handlers.js';
import { OutboxRoutes } from './outbox/outbox-routes.js';
import { OutboxStore } from './outbox/outbox-store.js';
import { OutboxWorker } from './outbox/outbox-worker.js';
import { Outbox } from './outbox/outbox.js';
import { PhaseStore } from './phases/phase-store.js';
import { Reconcilers } from './phases/reconciler.js';
import { renderProblem } from './answers/render-problem.js';
import { unfinished } from './keys/refusal.js';
import { Completer } from './background/completer.js';
import { Maintenance } from './background/maintenance.js';
import { OperationRunner } from './background/operation-runner.js';
import { ProcessReports } from './background/process-reports.js';
import { ProcessStore } from './background/process-store.js';
import { Reaper } from './background/reaper.js';
import { Operations } from './phases/resumable.js';
import { SweeperStore } from './background/sweeper-store.js';
import { Sweeper } from './background/sweeper.js';
import { ReconcilerJob } from './background/reconciler-job.js';

/** The jobs, the outbox and the status resource. */
export const backgroundProviders: Provider[] = [
  Operations,
  OutboxHandlers,
  SweeperStore,
  CompleterStore,
  ReconcilerStore,
  ReaperStore,
  OrphanedPhasesStore,
  StatusStore,
  StatusStreams,
  OutboxStore,
  DeadLetterStore,
  DeliveryStore,
  ProcessStore,
  {
    provide: ProcessReports,
    useFactory: (store: ProcessStore, maintenance: Maintenance) =>
      new ProcessReports(store, maintenance),
    inject: [ProcessStore, Maintenance],
  },
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
      deadLetters: DeadLetterStore,
      commits: CommitWatch,
      maintenance: Maintenance,
    ) => new Outbox(dataSource, store, deadLetters, commits, () => maintenance.wake('outbox')),
    inject: [DATA_SOURCE, OutboxStore, DeadLetterStore, CommitWatch, Maintenance],
  },
  {
    provide: Maintenance,
    useFactory: createMaintenance,
    inject: [
      IdempotencySettings,
      SweeperStore,
      CompleterStore,
      ReconcilerStore,
      ReaperStore,
      OrphanedPhasesStore,
      KeyStore,
      KeyTransitions,
      PhaseStore,
      RecordedPhases,
      LeaseKeeper,
      WaitingRequests,
      Operations,
      DeliveryStore,
      OutboxHandlers,
      ResolutionStore,
      Reconcilers,
      ColumnCiphers,
    ],
  },
];

function createMaintenance(
  settings: IdempotencySettings,
  sweeperStore: SweeperStore,
  completerStore: CompleterStore,
  reconcilerStore: ReconcilerStore,
  reaperStore: ReaperStore,
  orphanedPhases: OrphanedPhasesStore,
  keys: KeyStore,
  transitions: KeyTransitions,
  phases: PhaseStore,
  recordedPhases: RecordedPhases,
  leases: LeaseKeeper,
  waitingRequests: WaitingRequests,
  operations: Operations,
  deliveries: DeliveryStore,
  outboxHandlers: OutboxHandlers,
  resolutions: ResolutionStore,
  reconcilers: Reconcilers,
  ciphers: ColumnCiphers,
): Maintenance {
  const { maintenance: jobs, guard } = settings;
  const maintenance = new Maintenance(jobs);
  const policy = resolvePolicy(settings.dialect, [settings.policy], 'forRoot options');

  const sweeper = new Sweeper(
    sweeperStore,
    transitions,
    recordedPhases,
    jobs.sweeper.interval / 2,
    () => maintenance.wake('completer'),
  );
  maintenance.add('sweeper', sweeper);

  const { maxAttempts } = jobs.completer;
  const tools = {
    ...{ keys, transitions, phases, recordedPhases, leases, waitingRequests, operations },
    ciphers,
  };
  const runner = new OperationRunner(tools, policy, guard, maxAttempts);
  const wakeCompleter = () => maintenance.wake('completer');
  const completer = new Completer(
    completerStore,
    transitions,
    operations,
    runner,
    maxAttempts,
    policy.lease,
    wakeCompleter,
  );
  maintenance.add('completer', completer);

  const reconciler = new ReconcilerJob(
    reconcilerStore,
    resolutions,
    reconcilers,
    jobs.reconciler.maxAttempts,
    () => maintenance.wake('completer'),
  );
  maintenance.add('reconciler', reconciler);

  const closing = renderProblem(unfinished(), settings);
  const wakeJob = (job: 'completer' | 'reconciler') => maintenance.wake(job);
  const reaper = new Reaper(
    reaperStore,
    orphanedPhases,
    closing,
    wakeJob,
    transitions.unknownOutcomes,
  );
  maintenance.add('reaper', reaper);

  const routes = new OutboxRoutes(outboxHandlers, settings.outbox.transport);
  const wake = () => maintenance.wake('outbox');
  maintenance.add('outbox', new OutboxWorker(deliveries, routes, settings.outbox, wake));
  return maintenance;
}
