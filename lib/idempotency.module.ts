import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type NestModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, ModulesContainer } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Maintenance } from './background/maintenance.js';
import { ProcessReports } from './background/process-reports.js';
import { Operations } from './phases/resumable.js';
import { statusController } from './background/status.controller.js';
import { StatusStreams } from './background/status-streams.js';
import { checkStatusOptions } from './background/status.options.js';
import { IdempotencyCoverage } from './coverage/idempotency-coverage.js';
import { dataSourceProvider, entityModule } from './data-source.providers.js';
import { refuseOtherCopies } from './copies.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import {
  ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  OPTIONS_TYPE,
} from './idempotency.module-definition.js';
import type { IdempotencyModuleExtras } from './idempotency.options.js';
import { exported, providers } from './idempotency.providers.js';
import { IdempotentRoutes } from './idempotency.routes.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { checkRetention } from './short-retention.js';
import { DATA_SOURCE, OPERATOR_PAGE, SCHEMA } from './tokens.js';
import { Database } from './postgres/database.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { DataKeyStore } from './encryption/data-key-store.js';
import { checkEncryption } from './encryption/encryption-check.js';
import { KeyService } from './keys/key-service.js';
import { checkRole, checkSchema } from './schema/schema-check.js';
import { workOf } from './work-of-process.js';
import { entitiesIn } from './schema/entities.js';
import { OuterInterceptors } from './outer-interceptors.js';
import { ASYNC_NAMES, OPTION_NAMES } from './option-names.js';
import { refuseUnknownNames } from './policy/unknown-names.js';
import { CommitWatch } from './outbox/commit-watch.js';
import { OutboxHandlers } from './outbox/outbox-handlers.js';
import { ForeignCallGuard } from './phases/foreign-call-guard.js';
import { Reconcilers } from './phases/reconciler.js';
import { StrayWriteGuard } from './phases/stray-write-guard.js';
import { TransactionWatch } from './phases/transaction-watch.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { StatusLocation } from './background/status-location.js';
import { operatorPageController } from './operator/page/operator-page.controller.js';
import { checkOperatorPage, type OperatorPageOptions } from './operator/page/page.options.js';
import { discoveryProvider } from './openapi.providers.js';
import { Discovery } from './openapi/discovery.js';
import { IdempotencyDiscoveryController } from './openapi/discovery.controller.js';
import { checkDiscovery } from './openapi/discovery.options.js';
import { operatorPageProviders } from './operator.providers.js';
import { withholdErrorTexts } from './telemetry/error-line.js';
import { describeScopesWith } from './telemetry/key-labels.js';

@Module({})
export class IdempotencyModule
  extends ConfigurableModuleClass
  implements
    NestModule,
    OnModuleInit,
    OnApplicationBootstrap,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  /** Two modules on one data source would run two sets of leases and jobs over the same rows. */
  private static readonly dataSources = new WeakSet<DataSource>();

  private forgetDescription: (() => void) | undefined;
  private showErrorTexts: (() => void) | undefined;
  private guards: (ForeignCallGuard | StrayWriteGuard | TransactionWatch)[] = [];

  constructor(
    @Inject(DATA_SOURCE) private readonly dataSource: DataSource,
    @Inject(SCHEMA) private readonly schema: string | undefined,
    @Inject(OPERATOR_PAGE) private readonly page: OperatorPageOptions | undefined,
    private readonly settings: IdempotencySettings,
    private readonly database: Database,
    private readonly routes: IdempotentRoutes,
    private readonly coverage: IdempotencyCoverage,
    private readonly http: HttpPlatformHost,
    private readonly outerInterceptors: OuterInterceptors,
    private readonly discovery: Discovery,
    private readonly leases: LeaseKeeper,
    private readonly keys: KeyService,
    private readonly reconcilers: Reconcilers,
    private readonly operations: Operations,
    private readonly outboxHandlers: OutboxHandlers,
    private readonly commitWatch: CommitWatch,
    private readonly transactionWatch: TransactionWatch,
    private readonly maintenance: Maintenance,
    private readonly processes: ProcessReports,
    private readonly statusStreams: StatusStreams,
    private readonly dataKeys: DataKeyStore,
  ) {
    super();
  }

  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return assemble(super.forRoot(options), options);
  }

  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    refuseUnknownNames('forRootAsync options', options, ASYNC_NAMES, '', {
      names: OPTION_NAMES,
      place: 'into what the factory returns',
    });
    return assemble(super.forRootAsync(options), options);
  }

  /** There is no middleware: Nest calls this right before it creates the routes. */
  configure(): void {
    this.outerInterceptors.watch();
    this.discovery.leaveGlobalPrefix();
  }

  async onModuleInit(): Promise<void> {
    if (IdempotencyModule.dataSources.has(this.dataSource)) {
      throw new IdempotencyConfigurationError(
        'dataSource: two IdempotencyModules use one data source. Import IdempotencyModule.forRoot() once (it is global), or give the second one another dataSource.',
      );
    }
    IdempotencyModule.dataSources.add(this.dataSource);
    this.database.open();
    const { settings } = this;
    await checkSchema(this.dataSource, this.database, this.schema, settings.readOnly);
    this.routes.explore();
    const work = workOf(settings, this.routes.anyEntry, this.page);
    await checkRole(this.database, work.purposes, work.separation);
    // A role that sees one scope at a time cannot look at all data keys; a sealed row is refused.
    if (!this.database.separatesScopes) await checkEncryption(this.dataKeys, settings.encryption);
    checkRetention(this.routes.all, this.settings.clientRetries);
    this.coverage.check(this.settings.coverage);
    this.reconcilers.explore();
    this.operations.explore();
    this.outboxHandlers.explore(this.settings.outbox.transport?.topics);
    this.http.install();
    this.commitWatch.install(this.dataSource);
    this.installGuards();
  }

  onApplicationBootstrap(): void {
    // Last, so that an application that fails to start leaves nothing installed.
    this.forgetDescription = describeScopes(this.settings);
    if (this.settings.encryption) this.showErrorTexts = withholdErrorTexts();
    this.maintenance.start();
    if (!this.settings.readOnly) this.processes.start();
  }

  /** Before the server closes: running attempts finish and are recorded, and nothing new begins. */
  async beforeApplicationShutdown(): Promise<void> {
    this.keys.close();
    this.statusStreams.close();
    const { shutdownTimeout } = this.settings;
    const jobs = Promise.all([this.maintenance.stop(shutdownTimeout), this.processes.stop()]);
    await this.leases.drain(shutdownTimeout);
    await jobs;
  }

  async onApplicationShutdown(): Promise<void> {
    for (const guard of this.guards) guard.uninstall();
    this.forgetDescription?.();
    this.showErrorTexts?.();
    this.commitWatch.uninstall(this.dataSource);
    IdempotencyModule.dataSources.delete(this.dataSource);
    await this.database.close();
  }

  private installGuards(): void {
    const { guard } = this.settings;
    const tables = entitiesIn(this.schema).map(
      (entity) => `"${this.dataSource.getMetadata(entity).tableName}"`,
    );
    this.guards = [
      this.transactionWatch,
      new ForeignCallGuard(guard),
      new StrayWriteGuard(this.dataSource, guard, tables),
    ];
    for (const each of this.guards) each.install();
  }
}

/** Events are global to the process, so there is one way to describe scopes. */
function describeScopes({ describeScope }: IdempotencySettings): (() => void) | undefined {
  if (!describeScope) return undefined;
  const forget = describeScopesWith(describeScope);
  if (forget) return forget;
  throw new IdempotencyConfigurationError(
    'describeScope: another IdempotencyModule of this process has another one, and there can be only one. Give both the same function.',
  );
}

function assemble(definition: DynamicModule, extras: IdempotencyModuleExtras): DynamicModule {
  const { dataSource, schema, statusPath, statusGuards, discovery = false, operatorPage } = extras;
  checkStatusOptions(extras);
  checkOperatorPage(operatorPage);
  checkDiscovery(discovery);
  const imports = [
    ...(definition.imports ?? []),
    DiscoveryModule,
    entityModule(entitiesIn(schema), dataSource),
  ];
  return {
    ...definition,
    // Nest reads it after everything is loaded and before anything is built. Later, a dependency
    // that only another copy provides would fail first, without this reason.
    get imports() {
      refuseOtherCopies();
      return imports;
    },
    providers: [
      ...(definition.providers ?? []),
      dataSourceProvider(dataSource),
      { provide: SCHEMA, useValue: schema },
      { provide: OPERATOR_PAGE, useValue: operatorPage },
      {
        provide: StatusLocation,
        useFactory: (config: ApplicationConfig, modules: ModulesContainer) =>
          new StatusLocation(statusPath, IdempotencyModule, config, modules),
        inject: [ApplicationConfig, ModulesContainer],
      },
      ...providers,
      discoveryProvider(discovery),
      ...(operatorPage ? operatorPageProviders(operatorPage) : []),
    ],
    controllers: [
      ...(statusPath === undefined ? [] : [statusController(statusPath, statusGuards)]),
      ...(discovery ? [IdempotencyDiscoveryController] : []),
      ...(operatorPage ? [operatorPageController(operatorPage)] : []),
    ],
    exports: [...(definition.exports ?? []), ...exported],
  };
}
