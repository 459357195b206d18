import type { Provider } from '@nestjs/common';
import { Maintenance } from './background/maintenance.js';
import { ProcessReports } from './background/process-reports.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { ReplayCache } from './keys/replay-cache.js';
import { renderProblem } from './answers/render-problem.js';
import { unfinished } from './keys/refusal.js';
import { ColumnCiphers } from './encryption/column-cipher.js';
import { DataKeyRotation } from './encryption/data-key-rotation.js';
import { DataKeyStore } from './encryption/data-key-store.js';
import { DataKeys } from './encryption/data-keys.js';
import { ErasureStore } from './operator/erasure-store.js';
import { Erasures } from './operator/erasure.js';
import { Reencryption } from './operator/reencryption.js';
import { ReencryptionStore } from './operator/reencryption-store.js';
import { AuditQueries } from './operator/audit-queries.js';
import { Decider } from './operator/decider.js';
import { Decisions } from './operator/decisions.js';
import { DoubtQueries } from './operator/doubt-queries.js';
import { IdempotencyHealthIndicator } from './operator/health-indicator.js';
import { ExportQueries } from './operator/export-queries.js';
import { HealthStore } from './operator/health-store.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { OperatorQueries } from './operator/operator-queries.js';
import { FleetJobReports, JobReports } from './operator/page/job-reports.js';
import { MessageQueries } from './operator/page/message-queries.js';
import { OperatorPage } from './operator/page/operator-page.js';
import { PageQueries } from './operator/page/page-queries.js';
import { UnknownQueries } from './operator/page/unknown-queries.js';
import { onlyShown } from './operator/page/page-access.js';
import type { OperatorPageOptions } from './operator/page/page.options.js';
import { Outbox } from './outbox/outbox.js';
import { Database } from './postgres/database.js';
import { ResolutionQueries } from './resolution/resolution-queries.js';
import { ResolutionStore } from './resolution/resolution-store.js';

/** The operator, for people and webhooks. */
export const operatorProviders: Provider[] = [
  ResolutionStore,
  ResolutionQueries,
  AuditQueries,
  DoubtQueries,
  OperatorQueries,
  ExportQueries,
  HealthStore,
  ErasureStore,
  ReencryptionStore,
  {
    provide: Erasures,
    useFactory: (store: ErasureStore, replays: ReplayCache, dataKeys: DataKeys | undefined) =>
      new Erasures(store, replays, dataKeys),
    inject: [ErasureStore, ReplayCache, { token: DataKeys, optional: true }],
  },
  {
    // Undefined if nothing is sealed.
    provide: Reencryption,
    useFactory: (
      store: ReencryptionStore,
      ciphers: ColumnCiphers,
      dataKeys: DataKeyStore,
      { encryption }: IdempotencySettings,
    ) =>
      encryption?.seals
        ? new Reencryption(store, ciphers, new DataKeyRotation(dataKeys, encryption.masterKeys))
        : undefined,
    inject: [ReencryptionStore, ColumnCiphers, DataKeyStore, IdempotencySettings],
  },
  {
    provide: IdempotencyHealthIndicator,
    useFactory: (
      store: HealthStore,
      processes: ProcessReports,
      { breaker }: Database,
      { readOnly }: IdempotencySettings,
    ) => new IdempotencyHealthIndicator(store, processes, breaker, readOnly),
    inject: [HealthStore, ProcessReports, Database, IdempotencySettings],
  },
  {
    provide: IdempotencyOperator,
    useFactory: (
      store: ResolutionStore,
      seen: ResolutionQueries,
      queries: OperatorQueries,
      exports: ExportQueries,
      maintenance: Maintenance,
      replays: ReplayCache,
      processes: ProcessReports,
      erasures: Erasures,
      reencryption: Reencryption | undefined,
      settings: IdempotencySettings,
    ) =>
      new IdempotencyOperator(
        new Decider(seen, replays, maintenance, settings.readOnly),
        new Decisions(store, renderProblem(unfinished(), settings)),
        queries,
        exports,
        processes,
        erasures,
        reencryption,
        settings.readOnly,
      ),
    inject: [
      ResolutionStore,
      ResolutionQueries,
      OperatorQueries,
      ExportQueries,
      Maintenance,
      ReplayCache,
      ProcessReports,
      Erasures,
      { token: Reencryption, optional: true },
      IdempotencySettings,
    ],
  },
];

/** The providers of the operator page, if there is one. */
export function operatorPageProviders(options: OperatorPageOptions): Provider[] {
  return [
    PageQueries,
    UnknownQueries,
    MessageQueries,
    {
      provide: JobReports,
      useFactory: (operator: IdempotencyOperator) => new FleetJobReports(operator),
      inject: [IdempotencyOperator],
    },
    {
      provide: OperatorPage,
      useFactory: (
        operator: IdempotencyOperator,
        counts: PageQueries,
        unknown: UnknownQueries,
        messages: MessageQueries,
        audit: AuditQueries,
        jobs: JobReports,
        outbox: Outbox,
        { readOnly }: IdempotencySettings,
      ) => {
        const queries = { counts, unknown, messages, audit };
        const shown = readOnly ? onlyShown(options) : options;
        return new OperatorPage(shown, operator, queries, jobs, outbox);
      },
      inject: [
        IdempotencyOperator,
        PageQueries,
        UnknownQueries,
        MessageQueries,
        AuditQueries,
        JobReports,
        Outbox,
        IdempotencySettings,
      ],
    },
  ];
}
