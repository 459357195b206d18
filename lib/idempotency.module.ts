import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { IdempotencyConfigurationError } from './idempotency.errors.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import {
  ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  IDEMPOTENCY_OPTIONS,
  OPTIONS_TYPE,
} from './idempotency.module-definition.js';
import type { IdempotencyModuleExtras, IdempotencyModuleOptions } from './idempotency.options.js';
import { IdempotentRoutes } from './idempotency.routes.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { Database } from './keys/database.js';
import { KeyStore } from './keys/key-store.js';
import { LeaseKeeper } from './keys/lease-keeper.js';
import { Recorder } from './keys/recorder.js';
import { Reservations } from './keys/reservations.js';
import { checkSchema } from './keys/schema-check.js';
import { entitiesIn } from './keys/tables.js';
import { WaitingRoom } from './keys/waiting-room.js';
import { AtomicPhase } from './phases/atomic-phase.js';
import { ForeignCallGuard } from './phases/foreign-call-guard.js';
import { PhaseStore } from './phases/phase-store.js';
import { PhaseTransactions } from './phases/phase-transactions.js';
import { Reconcilers } from './phases/reconciler.js';
import { StrayWriteGuard } from './phases/stray-write-guard.js';
import { HttpPlatformHost } from './response/http-platform-host.js';
import { pickReplayHeaders, replayHeaderNames } from './response/replay-headers.js';

const DATA_SOURCE = Symbol('IdempotencyModule data source');
const SCHEMA = Symbol('IdempotencyModule schema');

/** What does not depend on the options. The interceptor is built in the user's modules, so all it needs is exported. */
const providers: Provider[] = [
  {
    provide: IdempotencySettings,
    useFactory: (options: IdempotencyModuleOptions) => new IdempotencySettings(options),
    inject: [IDEMPOTENCY_OPTIONS],
  },
  {
    provide: Database,
    useFactory: (dataSource: DataSource, settings: IdempotencySettings, schema?: string) =>
      new Database(dataSource, settings.storeTimeout, schema),
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
    provide: Reservations,
    useFactory: (
      keys: KeyStore,
      phases: PhaseStore,
      leases: LeaseKeeper,
      room: WaitingRoom,
      settings: IdempotencySettings,
    ) => new Reservations(keys, phases, leases, room, settings.storeTimeout),
    inject: [KeyStore, PhaseStore, LeaseKeeper, WaitingRoom, IdempotencySettings],
  },
  {
    provide: Recorder,
    useFactory: (
      keys: KeyStore,
      leases: LeaseKeeper,
      room: WaitingRoom,
      settings: IdempotencySettings,
    ) => {
      const names = replayHeaderNames(settings.replayHeaders);
      return new Recorder(keys, leases, room, (headers) => pickReplayHeaders(headers, names));
    },
    inject: [KeyStore, LeaseKeeper, WaitingRoom, IdempotencySettings],
  },
  {
    provide: AtomicPhase,
    useFactory: (dataSource: DataSource, store: PhaseStore, reconcilers: Reconcilers) =>
      new AtomicPhase({
        store,
        reconcilers,
        transactions: new PhaseTransactions(dataSource, store),
      }),
    inject: [DATA_SOURCE, PhaseStore, Reconcilers],
  },
  Reconcilers,
  HttpPlatformHost,
  IdempotentRoutes,
  IdempotencyInterceptor,
];

const exported = [
  AtomicPhase,
  IdempotencySettings,
  IdempotentRoutes,
  Reservations,
  Recorder,
  HttpPlatformHost,
  IdempotencyInterceptor,
];

@Module({})
export class IdempotencyModule
  extends ConfigurableModuleClass
  implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** Two modules on one data source would run two sets of leases and jobs over the same rows. */
  private static readonly dataSources = new WeakSet<DataSource>();

  private guards: (ForeignCallGuard | StrayWriteGuard)[] = [];

  constructor(
    @Inject(DATA_SOURCE) private readonly dataSource: DataSource,
    @Inject(SCHEMA) private readonly schema: string | undefined,
    private readonly settings: IdempotencySettings,
    private readonly database: Database,
    private readonly routes: IdempotentRoutes,
    private readonly http: HttpPlatformHost,
    private readonly leases: LeaseKeeper,
    private readonly reservations: Reservations,
    private readonly reconcilers: Reconcilers,
  ) {
    super();
  }

  static override forRoot(options: typeof OPTIONS_TYPE): DynamicModule {
    return assemble(super.forRoot(options), options);
  }

  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return assemble(super.forRootAsync(options), options);
  }

  async onModuleInit(): Promise<void> {
    if (IdempotencyModule.dataSources.has(this.dataSource)) {
      throw new IdempotencyConfigurationError(
        'dataSource: two IdempotencyModules use one data source. Import IdempotencyModule.forRoot() once (it is global), or give the second one another dataSource.',
      );
    }
    IdempotencyModule.dataSources.add(this.dataSource);
    await checkSchema(this.dataSource, this.database, this.schema);
    this.routes.explore();
    this.reconcilers.explore();
    this.http.install();
    this.installGuards();
  }

  /** Before the server closes: what runs finishes and is recorded, nothing new begins. */
  async beforeApplicationShutdown(): Promise<void> {
    this.reservations.close();
    await this.leases.drain(this.settings.shutdownTimeout);
  }

  onApplicationShutdown(): void {
    for (const guard of this.guards) guard.uninstall();
    IdempotencyModule.dataSources.delete(this.dataSource);
  }

  private installGuards(): void {
    const { guard } = this.settings;
    if (!guard) return;
    this.guards = [new ForeignCallGuard(guard), new StrayWriteGuard(this.dataSource, guard)];
    for (const each of this.guards) each.install();
  }
}

function assemble(definition: DynamicModule, extras: IdempotencyModuleExtras): DynamicModule {
  const { dataSource, schema } = extras;
  return {
    ...definition,
    imports: [
      ...(definition.imports ?? []),
      DiscoveryModule,
      TypeOrmModule.forFeature(entitiesIn(schema), dataSource),
    ],
    providers: [
      ...(definition.providers ?? []),
      { provide: DATA_SOURCE, useExisting: getDataSourceToken(dataSource) },
      { provide: SCHEMA, useValue: schema },
      ...providers,
    ],
    exports: [...(definition.exports ?? []), ...exported],
  };
}
