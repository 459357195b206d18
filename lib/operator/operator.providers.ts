import type { Provider } from '@nestjs/common';
import { Maintenance } from '../background/maintenance.js';
import { IdempotencySettings } from '../idempotency.settings.js';
import { Database } from '../postgres/database.js';
import { FinishedKeys } from '../keys/finished-keys.js';
import { renderProblem } from '../response/render-problem.js';
import { abandoned } from '../response/refusals.js';
import { IdempotencyOperator } from './idempotency-operator.js';
import { OperatorQueries } from './operator-queries.js';
import { OperatorStore } from './operator-store.js';

/** What people and webhooks act through. */
export const operatorProviders: Provider[] = [
  {
    provide: OperatorStore,
    useFactory: (db: Database) => new OperatorStore(db),
    inject: [Database],
  },
  {
    provide: IdempotencyOperator,
    useFactory: (
      db: Database,
      store: OperatorStore,
      maintenance: Maintenance,
      finished: FinishedKeys,
      settings: IdempotencySettings,
    ) =>
      new IdempotencyOperator(
        store,
        new OperatorQueries(db),
        maintenance,
        finished,
        renderProblem(abandoned(), settings),
      ),
    inject: [Database, OperatorStore, Maintenance, FinishedKeys, IdempotencySettings],
  },
];
