import {
  Inject,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { createNoopMeter, metrics, trace, type Meter } from '@opentelemetry/api';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { Database } from '../postgres/database.js';
import { installTracing } from '../telemetry/tracing.js';
import { observeDuplicates } from './duplicates-per-scope.js';
import { EventMetrics } from './event-metrics.js';
import { observeGauges } from './gauge-metrics.js';
import { GaugeReader } from './gauge-reader.js';
import { GaugeStore } from './gauge-store.js';
import { OpenTelemetryTracing } from './open-telemetry-tracing.js';
import {
  resolveTelemetry,
  type IdempotencyTelemetryOptions,
  type TelemetrySettings,
} from './telemetry.options.js';

/** The name of the instrumentation, as OpenTelemetry shows it. */
const NAME = 'nestjs-atomic-idempotency';

const SETTINGS = Symbol('IdempotencyTelemetryModule settings');

/**
 * Metrics and traces of an application's idempotent requests, with OpenTelemetry.
 * Import it once, beside `IdempotencyModule`, and start OpenTelemetry's SDK before
 * the application.
 */
@Module({})
export class IdempotencyTelemetryModule
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** Events are global to the process: a second module would count everything twice. */
  private static inUse = false;

  private readonly ends: (() => void)[] = [];
  private databases: Database[] = [];
  private readers: GaugeReader[] = [];

  constructor(
    @Inject(SETTINGS) private readonly settings: TelemetrySettings,
    private readonly modules: ModuleRef,
  ) {}

  static forRoot(options: IdempotencyTelemetryOptions = {}): DynamicModule {
    const settings = resolveTelemetry(options);
    return {
      module: IdempotencyTelemetryModule,
      providers: [{ provide: SETTINGS, useValue: settings }],
    };
  }

  onModuleInit(): void {
    this.databases = this.findDatabases();
  }

  /** Last, so that an application that fails to start leaves nothing installed. */
  onApplicationBootstrap(): void {
    if (IdempotencyTelemetryModule.inUse) {
      throw new IdempotencyConfigurationError(
        'IdempotencyTelemetryModule is imported twice in this process, so everything would be counted twice. Import it once.',
      );
    }
    IdempotencyTelemetryModule.inUse = true;
    const { settings } = this;
    if (settings.traces) {
      const provider = settings.tracerProvider ?? trace;
      this.ends.push(installTracing(new OpenTelemetryTracing(provider.getTracer(NAME))));
    }
    if (settings.metrics) this.measure((settings.meterProvider ?? metrics).getMeter(NAME));
    for (const reader of this.readers) reader.start();
  }

  /** While the database is still connected. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.stop()));
  }

  onApplicationShutdown(): void {
    if (this.ends.length > 0) IdempotencyTelemetryModule.inUse = false;
    for (const end of this.ends.splice(0)) end();
  }

  private measure(meter: Meter): void {
    const { gaugeInterval, duplicatesPerScope, describeActor } = this.settings;
    if (meter.constructor === createNoopMeter().constructor) {
      new Logger('IdempotencyTelemetry').warn(
        'OpenTelemetry has no MeterProvider yet, so nothing is measured. Start its SDK before the application, or pass meterProvider.',
      );
    }
    const counted = new EventMetrics(meter, describeActor);
    this.ends.push(() => counted.end());
    if (duplicatesPerScope > 0) this.ends.push(observeDuplicates(meter, duplicatesPerScope));
    if (gaugeInterval === undefined) return;
    this.readers = this.databases.map(
      (each) => new GaugeReader(new GaugeStore(each), gaugeInterval),
    );
    for (const reader of this.readers) this.ends.push(observeGauges(meter, reader));
  }

  /** Those of every IdempotencyModule, wherever it is imported. */
  private findDatabases(): Database[] {
    try {
      return this.modules.get(Database, { strict: false, each: true });
    } catch {
      throw new IdempotencyConfigurationError(
        'IdempotencyTelemetryModule: there is no IdempotencyModule whose keys it could measure. Import IdempotencyModule.forRoot() as well.',
      );
    }
  }
}
