import type { Provider } from '@nestjs/common';
import { Maintenance } from './background/maintenance.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { ReplayCache } from './keys/replay-cache.js';
import { renderProblem } from './answers/render-problem.js';
import { unfinished } from './keys/refusal.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { OperatorQueries } from './operator/operator-queries.js';
import { ResolutionStore } from './resolution/resolution-store.js';

/** What people and webhooks act through. */
export const operatorProviders: Provider[] = [
  ResolutionStore,
  OperatorQueries,
  {
    provide: IdempotencyOperator,
    useFactory: (
      store: ResolutionStore,
      queries: OperatorQueries,
      maintenance: Maintenance,
      finished: ReplayCache,
      settings: IdempotencySettings,
    ) =>
      new IdempotencyOperator(
        store,
        queries,
        maintenance,
        finished,
        renderProblem(unfinished(), settings),
      ),
    inject: [ResolutionStore, OperatorQueries, Maintenance, ReplayCache, IdempotencySettings],
  },
];
