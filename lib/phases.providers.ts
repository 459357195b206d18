import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { IdempotencySettings } from './idempotency.settings.js';
import { DATA_SOURCE } from './tokens.js';
import { Database } from './postgres/database.js';
import { HandlerRunner } from './phases/handler-runner.js';
import { AtomicPhase } from './phases/atomic-phase.js';
import { PhaseBatches } from './phases/phase-batches.js';
import { Transactions } from './postgres/transactions.js';
import { DistributedPhaseStore } from './phases/distributed-phase-store.js';
import { PhaseStore } from './phases/phase-store.js';
import { PhaseTransactions } from './phases/phase-transactions.js';
import { Reconcilers } from './phases/reconciler.js';
import { TransactionWatch } from './phases/transaction-watch.js';

/** Phases, and what runs the handlers that have them. */
export const phasesProviders: Provider[] = [
  {
    provide: PhaseStore,
    useFactory: (database: Database) =>
      database.distributed ? new DistributedPhaseStore(database) : new PhaseStore(database),
    inject: [Database],
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
  {
    provide: HandlerRunner,
    useFactory: ({ guard }: IdempotencySettings, transactions: TransactionWatch) =>
      new HandlerRunner(guard, transactions),
    inject: [IdempotencySettings, TransactionWatch],
  },
  Reconcilers,
];
