import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { backgroundProviders } from './background/background.providers.js';
import { Maintenance } from './background/maintenance.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { IDEMPOTENCY_OPTIONS } from './idempotency.module-definition.js';
import type { IdempotencyModuleOptions } from './idempotency.options.js';
import { IdempotentRoutes } from './idempotency.routes.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { DATA_SOURCE, IMPORTED, SCHEMA } from './idempotency.tokens.js';
import { Database } from './postgres/database.js';
import { FinishedKeys } from './keys/finished-keys.js';
import { KeyBatches } from './keys/key-batches.js';
import { KeyStore } from './keys/key-store.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { Recorder } from './keys/recorder.js';
import { Reservations } from './keys/reservations.js';
import { WaitingRoom } from './keys/waiting-room.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { operatorProviders } from './operator/operator.providers.js';
import { Outbox } from './outbox/outbox.js';
import { OuterInterceptors } from './outer-interceptors.js';
import { AtomicPhase } from './phases/atomic-phase.js';
import { PhaseBatches } from './phases/phase-batches.js';
import { PhaseStore } from './phases/phase-store.js';
import { PhaseTransactions } from './phases/phase-transactions.js';
import { Reconcilers } from './phases/reconciler.js';
import type { ObservedAnswer } from './response/answer.js';
import { TransactionWatch } from './phases/transaction-watch.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { pickReplayHeaders, replayHeaderNames } from './response/replay-headers.js';
import { StatusLocation } from './response/status-location.js';

/** What does not depend on the options. The interceptor is built in the user's modules, so all it needs is exported. */
export const providers: Provider[] = [
  { provide: IMPORTED, useValue: true },
  {
    provide: IdempotencySettings,
    useFactory: (options: IdempotencyModuleOptions) => new IdempotencySettings(options),
    inject: [IDEMPOTENCY_OPTIONS],
  },
  {
    provide: Database,
    useFactory: (dataSource: DataSource, settings: IdempotencySettings, schema?: string) =>
      new Database(dataSource, settings.storeTimeout, schema, settings.preparedStatements),
    inject: [DATA_SOURCE, IdempotencySettings, SCHEMA],
  },
  { provide: KeyStore, useFactory: (db: Database) => new KeyStore(db), inject: [Database] },
  { provide: PhaseStore, useFactory: (db: Database) => new PhaseStore(db), inject: [Database] },
  {
    provide: LeaseKeeper,
    useFactory: (keys: KeyStore) => new LeaseKeeper(keys),
    inject: [KeyStore],
  },
  {
    provide: WaitingRoom,
    useFactory: (keys: KeyStore) => new WaitingRoom(keys),
    inject: [KeyStore],
  },
  {
    provide: KeyBatches,
    useFactory: (keys: KeyStore, { storeTimeout }: IdempotencySettings) =>
      new KeyBatches(keys, storeTimeout),
    inject: [KeyStore, IdempotencySettings],
  },
  {
    provide: FinishedKeys,
    useFactory: ({ replayCache: { ttl, maxBytes } }: IdempotencySettings) =>
      new FinishedKeys(ttl, maxBytes),
    inject: [IdempotencySettings],
  },
  {
    provide: Reservations,
    useFactory: (
      keys: KeyStore,
      batches: KeyBatches,
      finished: FinishedKeys,
      phases: PhaseStore,
      leases: LeaseKeeper,
      room: WaitingRoom,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) =>
      new Reservations(keys, batches, finished, phases, leases, room, settings.storeTimeout, () =>
        maintenance.wake('completer'),
      ),
    inject: [
      KeyStore,
      KeyBatches,
      FinishedKeys,
      PhaseStore,
      LeaseKeeper,
      WaitingRoom,
      IdempotencySettings,
      Maintenance,
    ],
  },
  {
    provide: Recorder,
    useFactory: (
      keys: KeyStore,
      batches: KeyBatches,
      leases: LeaseKeeper,
      room: WaitingRoom,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) => {
      const names = replayHeaderNames(settings.replayHeaders);
      const pickHeaders = (headers: ObservedAnswer['headers']) => pickReplayHeaders(headers, names);
      const wakeWorkers = () => maintenance.wake('completer');
      return new Recorder(keys, batches, leases, room, pickHeaders, wakeWorkers);
    },
    inject: [KeyStore, KeyBatches, LeaseKeeper, WaitingRoom, IdempotencySettings, Maintenance],
  },
  {
    provide: TransactionWatch,
    useFactory: (dataSource: DataSource) => new TransactionWatch(dataSource),
    inject: [DATA_SOURCE],
  },
  {
    provide: AtomicPhase,
    useFactory: (
      dataSource: DataSource,
      store: PhaseStore,
      reconcilers: Reconcilers,
      { storeTimeout }: IdempotencySettings,
      watch: TransactionWatch,
    ) => {
      const batches = new PhaseBatches(store, storeTimeout);
      const transactions = new PhaseTransactions(dataSource, store, batches);
      return new AtomicPhase({ batches, transactions, reconcilers }, watch);
    },
    inject: [DATA_SOURCE, PhaseStore, Reconcilers, IdempotencySettings, TransactionWatch],
  },
  ...backgroundProviders,
  ...operatorProviders,
  Reconcilers,
  HttpPlatformHost,
  IdempotentRoutes,
  IdempotencyInterceptor,
  OuterInterceptors,
];

export const exported = [
  AtomicPhase,
  Outbox,
  IdempotencyOperator,
  Maintenance,
  IMPORTED,
  IdempotencySettings,
  IdempotentRoutes,
  Reservations,
  Recorder,
  HttpPlatformHost,
  TransactionWatch,
  StatusLocation,
  IdempotencyInterceptor,
];
