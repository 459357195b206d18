export { IdempotencyTelemetryModule } from './telemetry.module.js';
export type { IdempotencyTelemetryOptions } from './telemetry.options.js';
