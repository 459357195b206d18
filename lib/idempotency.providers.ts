import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { backgroundProviders } from './background.providers.js';
import { encryptionProviders } from './encryption.providers.js';
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
import { ScopeReader } from './request/scope.js';
import { DecisionAnswers } from './keys/decision-answers.js';
import { KeyService } from './keys/key-service.js';
import { HandlerRunner } from './phases/handler-runner.js';
import { HttpExchanges } from './http-exchange.js';
import { KeyHygiene } from './request/key-hygiene.js';
import { RequestReader } from './request/request-reader.js';
import { IdempotencyHealthIndicator } from './operator/health-indicator.js';
import { IdempotencyOperator } from './operator/idempotency-operator.js';
import { openApiProviders } from './openapi.providers.js';
import { operatorProviders } from './operator.providers.js';
import { Messages } from './messages/messages.js';
import { OtherEntries } from './other-entries.js';
import { Outbox } from './outbox/outbox.js';
import { OuterInterceptors } from './outer-interceptors.js';
import { AtomicPhase } from './phases/atomic-phase.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { StatusLocation } from './background/status-location.js';
import { keysProviders } from './keys.providers.js';
import { phasesProviders } from './phases.providers.js';

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
  ...keysProviders,
  ...phasesProviders,
  ...encryptionProviders,
  ...backgroundProviders,
  ...operatorProviders,
  ...openApiProviders,
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
