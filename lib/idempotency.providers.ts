import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { backgroundProviders } from './background.providers.js';
import { encryptionProviders } from './encryption.providers.js';
import { ColumnCiphers } from './encryption/column-cipher.js';
import { Maintenance } from './background/maintenance.js';
import { CallRunner } from './calls/call-runner.js';
import { Idempotency } from './calls/idempotency.js';
import { IdempotencyCoverage } from './coverage/idempotency-coverage.js';
import { MutationReader } from './graphql/mutation-reader.js';
import { Mutations } from './graphql/mutations.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { IDEMPOTENCY_OPTIONS } from './idempotency.module-definition.js';
import type { IdempotencyModuleOptions } from './idempotency.options.js';
import { IdempotentEntries } from './idempotency.entries.js';
import { IdempotentRoutes } from './idempotency.routes.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { DATA_SOURCE, IMPORTED, SCHEMA } from './tokens.js';
import { Database } from './postgres/database.js';
import { DISTRIBUTED_TABLES } from '../migrations/distribute-on-citus.js';
import { openDatabase } from './postgres/open-database.js';
import { CircuitBreaker, NO_BREAKER } from './postgres/store-breaker.js';
import { limitsProviders, RESERVER } from './limits.providers.js';
import { WaitingPlaces } from './limits/waiting-places.js';
import type { Reserver } from './keys/reserver.js';
import { MemoryReplayCache, NoReplayCache, ReplayCache } from './keys/replay-cache.js';
import { KeyBatches } from './keys/key-batches.js';
import { RecordedPhases } from './keys/recorded-phases.js';
import { ScopeReader } from './request/scope.js';
import { DecisionAnswers } from './keys/decision-answers.js';
import { KeyService } from './keys/key-service.js';
import { HandlerRunner } from './phases/handler-runner.js';
import { HttpExchanges } from './http-exchange.js';
import { KeyHygiene } from './request/key-hygiene.js';
import { RequestReader } from './request/request-reader.js';
import { DistributedKeyStore } from './keys/distributed-key-store.js';
import { KeyStore } from './keys/key-store.js';
import { KeyTransitions } from './keys/key-transitions.js';
import { LeaseStore } from './keys/lease-store.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { Recorder } from './keys/recorder.js';
import { Reservations } from './keys/reservations.js';
import { BusyKeys } from './keys/busy-keys.js';
import { WaitingRequests } from './keys/waiting-requests.js';
import { IdempotencyHealthIndicator } from './operator/health-indicator.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { openApiProviders } from './openapi.providers.js';
import { operatorProviders } from './operator.providers.js';
import { Messages } from './messages/messages.js';
import { OtherEntries } from './other-entries.js';
import { Outbox } from './outbox/outbox.js';
import { OuterInterceptors } from './outer-interceptors.js';
import { AtomicPhase } from './phases/atomic-phase.js';
import { PhaseBatches } from './phases/phase-batches.js';
import { Transactions } from './postgres/transactions.js';
import { DistributedPhaseStore } from './phases/distributed-phase-store.js';
import { PhaseStore } from './phases/phase-store.js';
import { PhaseTransactions } from './phases/phase-transactions.js';
import { Reconcilers } from './phases/reconciler.js';
import type { ObservedAnswer } from './answers/answer.js';
import { TransactionWatch } from './phases/transaction-watch.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { pickReplayHeaders, replayHeaderNames } from './answers/replay-headers.js';
import { StatusLocation } from './background/status-location.js';

/**
 * Providers that do not depend on the options. The interceptor is built in the
 * application's modules, so everything that it needs is exported.
 */
export const providers: Provider[] = [
  { provide: IMPORTED, useValue: true },
  {
    provide: IdempotencySettings,
    useFactory: (options: IdempotencyModuleOptions) => new IdempotencySettings(options),
    inject: [IDEMPOTENCY_OPTIONS],
  },
  {
    provide: Database,
    useFactory: (
      dataSource: DataSource,
      { storeTimeout, preparedStatements, circuitBreaker }: IdempotencySettings,
      schema?: string,
    ) =>
      openDatabase(dataSource, {
        timeout: storeTimeout,
        schema,
        prepares: preparedStatements,
        breaker: circuitBreaker ? new CircuitBreaker(circuitBreaker) : NO_BREAKER,
        tables: DISTRIBUTED_TABLES,
      }),
    inject: [DATA_SOURCE, IdempotencySettings, SCHEMA],
  },
  {
    provide: ScopeReader,
    useFactory: ({ scope }: IdempotencySettings) => new ScopeReader(scope),
    inject: [IdempotencySettings],
  },
  {
    provide: RequestReader,
    useFactory: ({ header }: IdempotencySettings, scopes: ScopeReader) =>
      new RequestReader(header, scopes),
    inject: [IdempotencySettings, ScopeReader],
  },
  {
    provide: KeyHygiene,
    useFactory: ({ header }: IdempotencySettings) => new KeyHygiene(header),
    inject: [IdempotencySettings],
  },
  {
    provide: DecisionAnswers,
    useFactory: (settings: IdempotencySettings, status: StatusLocation) =>
      new DecisionAnswers(settings, (id) => status.of(id)),
    inject: [IdempotencySettings, StatusLocation],
  },
  {
    provide: HandlerRunner,
    useFactory: ({ guard }: IdempotencySettings, transactions: TransactionWatch) =>
      new HandlerRunner(guard, transactions),
    inject: [IdempotencySettings, TransactionWatch],
  },
  HttpExchanges,
  IdempotencyCoverage,
  CallRunner,
  {
    provide: Messages,
    useFactory: (runner: CallRunner, { header }: IdempotencySettings) =>
      new Messages(runner, header),
    inject: [CallRunner, IdempotencySettings],
  },
  {
    provide: Mutations,
    useFactory: (
      runner: CallRunner,
      { header }: IdempotencySettings,
      scopes: ScopeReader,
      http: HttpPlatformHost,
    ) => new Mutations(runner, new MutationReader(header, scopes), http),
    inject: [CallRunner, IdempotencySettings, ScopeReader, HttpPlatformHost],
  },
  OtherEntries,
  {
    provide: Idempotency,
    useFactory: (runner: CallRunner, settings: IdempotencySettings) =>
      new Idempotency(runner, (own, where) => settings.callPolicy(own, where)),
    inject: [CallRunner, IdempotencySettings],
  },
  KeyService,
  {
    provide: KeyStore,
    useFactory: (database: Database) =>
      database.distributed ? new DistributedKeyStore(database) : new KeyStore(database),
    inject: [Database],
  },
  KeyTransitions,
  LeaseStore,
  RecordedPhases,
  {
    provide: PhaseStore,
    useFactory: (database: Database) =>
      database.distributed ? new DistributedPhaseStore(database) : new PhaseStore(database),
    inject: [Database],
  },
  LeaseKeeper,
  WaitingRequests,
  {
    provide: KeyBatches,
    useFactory: (
      keys: KeyStore,
      { storeTimeout, batching }: IdempotencySettings,
      database: Database,
    ) =>
      new KeyBatches(
        keys,
        storeTimeout,
        batching && !database.distributed,
        () => database.isExhausted,
      ),
    inject: [KeyStore, IdempotencySettings, Database],
  },
  {
    provide: ReplayCache,
    useFactory: ({ replayCache }: IdempotencySettings) =>
      replayCache
        ? new MemoryReplayCache(replayCache.ttl, replayCache.maxBytes)
        : new NoReplayCache(),
    inject: [IdempotencySettings],
  },
  ...limitsProviders,
  {
    provide: Reservations,
    useFactory: (
      transitions: KeyTransitions,
      keys: Reserver,
      replays: ReplayCache,
      phases: RecordedPhases,
      leases: LeaseKeeper,
      waitingRequests: WaitingRequests,
      ciphers: ColumnCiphers,
      places: WaitingPlaces,
      { breaker }: Database,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) =>
      new Reservations(
        transitions,
        keys,
        replays,
        phases,
        leases,
        new BusyKeys(waitingRequests, places),
        ciphers,
        breaker,
        settings.storeTimeout,
        () => maintenance.wake('completer'),
      ),
    inject: [
      KeyTransitions,
      RESERVER,
      ReplayCache,
      RecordedPhases,
      LeaseKeeper,
      WaitingRequests,
      ColumnCiphers,
      WaitingPlaces,
      Database,
      IdempotencySettings,
      Maintenance,
    ],
  },
  {
    provide: Recorder,
    useFactory: (
      transitions: KeyTransitions,
      batches: KeyBatches,
      leases: LeaseKeeper,
      room: WaitingRequests,
      settings: IdempotencySettings,
      maintenance: Maintenance,
    ) => {
      const names = replayHeaderNames(settings.replayHeaders);
      const pickHeaders = (headers: ObservedAnswer['headers']) => pickReplayHeaders(headers, names);
      const wakeWorkers = () => maintenance.wake('completer');
      return new Recorder(transitions, batches, leases, room, pickHeaders, wakeWorkers);
    },
    inject: [
      KeyTransitions,
      KeyBatches,
      LeaseKeeper,
      WaitingRequests,
      IdempotencySettings,
      Maintenance,
    ],
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
      database: Database,
      store: PhaseStore,
      reconcilers: Reconcilers,
      { storeTimeout, batching }: IdempotencySettings,
      watch: TransactionWatch,
    ) => {
      const batches = new PhaseBatches(
        store,
        storeTimeout,
        batching && !database.distributed,
        () => database.isExhausted,
      );
      const work = new Transactions(dataSource, database);
      const transactions = new PhaseTransactions(work, store, batches);
      return new AtomicPhase({ batches, transactions, reconcilers }, watch);
    },
    inject: [DATA_SOURCE, Database, PhaseStore, Reconcilers, IdempotencySettings, TransactionWatch],
  },
  ...encryptionProviders,
  ...backgroundProviders,
  ...operatorProviders,
  ...openApiProviders,
  Reconcilers,
  HttpPlatformHost,
  IdempotentEntries,
  IdempotentRoutes,
  IdempotencyInterceptor,
  OuterInterceptors,
];

export const exported = [
  AtomicPhase,
  Idempotency,
  IdempotencyCoverage,
  Outbox,
  IdempotencyOperator,
  IdempotencyHealthIndicator,
  Maintenance,
  IMPORTED,
  IdempotentRoutes,
  HttpExchanges,
  KeyService,
  HandlerRunner,
  OtherEntries,
  IdempotencyInterceptor,
];
