import type { InjectionToken, Provider } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { CompleterStore } from '../../background/completer-store.js';
import { Maintenance } from '../../background/maintenance.js';
import { ProcessReports } from '../../background/process-reports.js';
import { StatusLocation } from '../../background/status-location.js';
import { IDEMPOTENCY_OPTIONS } from '../../idempotency.module-definition.js';
import type { IdempotencyModuleOptions } from '../../idempotency.options.js';
import { exported, providers } from '../../idempotency.providers.js';
import { IdempotentRoutes } from '../../idempotency.routes.js';
import { IdempotencySettings } from '../../idempotency.settings.js';
import { ColumnCiphers } from '../../encryption/column-cipher.js';
import { PlainCiphers } from '../../encryption/plain-cipher.js';
import { KeyService } from '../../keys/key-service.js';
import { KeyStore } from '../../keys/key-store.js';
import { KeyTransitions } from '../../keys/key-transitions.js';
import { LeaseKeeper } from '../../keys/lease-keeper.js';
import { LeaseStore } from '../../keys/lease-store.js';
import { RecordedPhases } from '../../keys/recorded-phases.js';
import { HealthStore } from '../../operator/health-store.js';
import { IdempotencyOperator } from '../../operator/idempotency-operator.js';
import { OutboxHandlers } from '../../outbox/outbox-handlers.js';
import { Outbox } from '../../outbox/outbox.js';
import { OuterInterceptors } from '../../outer-interceptors.js';
import { AtomicPhase } from '../../phases/atomic-phase.js';
import { PhaseStore } from '../../phases/phase-store.js';
import { Reconcilers } from '../../phases/reconciler.js';
import { Operations } from '../../phases/resumable.js';
import { TransactionWatch } from '../../phases/transaction-watch.js';
import { Database } from '../../postgres/database.js';
import { HttpPlatformHost } from '../../response/http-platform-host.js';
import { DATA_SOURCE, SCHEMA } from '../../tokens.js';
import { Exploration } from './exploration.js';
import { FakeAtomicPhase, type FakeAtomicPhaseOptions } from './fake-atomic-phase.js';
import { FakeIdempotencyOperator } from './fake-operator.js';
import { FakeOutbox } from './fake-outbox.js';
import { MemoryKeys } from './memory/memory-keys.js';
import { MemoryLeases } from './memory/memory-leases.js';
import { MemoryOperations } from './memory/memory-operations.js';
import { MemoryPhases } from './memory/memory-phases.js';
import { MemoryStore } from './memory/memory-store.js';
import { MemoryTransitions } from './memory/memory-transitions.js';
import { NO_DATA_SOURCE, NO_DATABASE, NOTHING_WRONG } from './no-database.js';
import { TestingSetup } from './testing-setup.js';

export interface IdempotencyForTestsOptions extends Pick<FakeAtomicPhaseOptions, 'tx'> {
  /**
   * Options of `IdempotencyModule.forRoot()` that the test depends on, such as
   * `scope`, `header`, `dialect` and policies.
   * @default { scope: 'global' }
   */
  module?: Partial<IdempotencyModuleOptions>;
}

/** What tests get besides what applications inject. */
const FAKES: InjectionToken[] = [FakeAtomicPhase, FakeOutbox, FakeIdempotencyOperator];

export const exportedForTests: InjectionToken[] = [...exported, ...FAKES];

/**
 * Providers for a testing module that has no database. `AtomicPhase`, `Outbox`
 * and `IdempotencyOperator` are fakes, which `get(FakeAtomicPhase)` and so on
 * returns; everything else is the module itself, on a memory that is gone with
 * the test. So requests over HTTP are answered by the real protocol: a key is
 * demanded, a retry is replayed, another body under the same key is refused.
 *
 * They are seen by the controllers and providers of the same module. For modules
 * that the test imports, use `IdempotencyTestingModule.forTests()`.
 */
export function provideIdempotencyForTests(options: IdempotencyForTestsOptions = {}): Provider[] {
  const store = new MemoryStore();
  const phases = new MemoryPhases(store);
  return [
    // Of two providers of one token, Nest takes the later one.
    ...providers,
    {
      provide: IDEMPOTENCY_OPTIONS,
      useValue: {
        scope: 'global',
        maintenance: false,
        batching: false,
        replayCache: false,
        ...options.module,
      } satisfies IdempotencyModuleOptions,
    },
    { provide: SCHEMA, useValue: undefined },
    { provide: DATA_SOURCE, useValue: NO_DATA_SOURCE },
    { provide: Database, useValue: NO_DATABASE },
    { provide: StatusLocation, useValue: { of: () => undefined } },
    {
      provide: DiscoveryService,
      useFactory: (modules: ModulesContainer) => new DiscoveryService(modules),
      inject: [ModulesContainer],
    },
    MetadataScanner,
    // There is no database in which something could be sealed.
    { provide: ColumnCiphers, useValue: new PlainCiphers() },
    { provide: KeyStore, useValue: new MemoryKeys(store) },
    { provide: KeyTransitions, useValue: new MemoryTransitions(store) },
    { provide: LeaseStore, useValue: new MemoryLeases(store) },
    { provide: RecordedPhases, useValue: phases },
    { provide: PhaseStore, useValue: phases },
    { provide: CompleterStore, useValue: new MemoryOperations(store) },
    { provide: HealthStore, useValue: NOTHING_WRONG },
    { provide: ProcessReports, useValue: { jobs: async () => [] } },
    ...fakes(options, store),
    setup,
  ];
}

function fakes(options: IdempotencyForTestsOptions, store: MemoryStore): Provider[] {
  return [
    {
      provide: Exploration,
      useFactory: (
        reconcilers: Reconcilers,
        operations: Operations,
        handlers: OutboxHandlers,
        { outbox }: IdempotencySettings,
      ) => new Exploration(reconcilers, operations, handlers, outbox.transport),
      inject: [Reconcilers, Operations, OutboxHandlers, IdempotencySettings],
    },
    {
      provide: AtomicPhase,
      useFactory: (exploration: Exploration) => {
        const ask: Reconcilers['ask'] = (effect) => {
          exploration.explore();
          return exploration.reconcilers.ask(effect);
        };
        return new FakeAtomicPhase(options, { store, reconcilers: { ask } });
      },
      inject: [Exploration],
    },
    {
      provide: Outbox,
      useFactory: (exploration: Exploration) => {
        const handle: OutboxHandlers['handle'] = (message) => {
          exploration.explore();
          return exploration.outboxHandlers.handle(message);
        };
        return new FakeOutbox({ handle });
      },
      inject: [Exploration],
    },
    { provide: IdempotencyOperator, useFactory: () => new FakeIdempotencyOperator() },
    { provide: FakeAtomicPhase, useExisting: AtomicPhase },
    { provide: FakeOutbox, useExisting: Outbox },
    { provide: FakeIdempotencyOperator, useExisting: IdempotencyOperator },
  ];
}

const setup: Provider = {
  provide: TestingSetup,
  useFactory: (...parts: ConstructorParameters<typeof TestingSetup>) => new TestingSetup(...parts),
  inject: [
    IdempotencySettings,
    IdempotentRoutes,
    HttpPlatformHost,
    LeaseKeeper,
    KeyService,
    Exploration,
    OuterInterceptors,
    TransactionWatch,
    Maintenance,
    Outbox,
  ],
};
