import type { Provider } from '@nestjs/common';
import { Maintenance } from './background/maintenance.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { ReplayCache } from './keys/replay-cache.js';
import { renderProblem } from './answers/render-problem.js';
import { unfinished } from './keys/refusal.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { OperatorQueries } from './operator/operator-queries.js';
import { JobReports, OwnJobReports } from './operator/page/job-reports.js';
import { OperatorPage } from './operator/page/operator-page.js';
import { PageQueries } from './operator/page/page-queries.js';
import type { OperatorPageOptions } from './operator/page/page.options.js';
import { Outbox } from './outbox/outbox.js';
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

/** What the operator page is made of, where there is one. */
export function operatorPageProviders(options: OperatorPageOptions): Provider[] {
  return [
    PageQueries,
    {
      provide: JobReports,
      useFactory: (operator: IdempotencyOperator) => new OwnJobReports(operator),
      inject: [IdempotencyOperator],
    },
    {
      provide: OperatorPage,
      useFactory: (
        operator: IdempotencyOperator,
        queries: PageQueries,
        jobs: JobReports,
        outbox: Outbox,
      ) => new OperatorPage(options, operator, queries, jobs, outbox),
      inject: [IdempotencyOperator, PageQueries, JobReports, Outbox],
    },
  ];
}
