/** OpenTelemetry's SDK, as an application has it, with nobody at the other end. */
import { context, metrics, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { IdempotencyTelemetryModule } from 'nestjs-atomic-idempotency/opentelemetry';

/** Takes every batch and forgets it. */
const nowhere: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: async () => undefined,
};

export function telemetry() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 10_000 });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  setInterval(() => exporter.reset(), 10_000).unref();
  const traces = process.env.BENCH_TELEMETRY === 'traces';
  if (traces) {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }),
    );
  }
  return IdempotencyTelemetryModule.forRoot({ traces });
}
