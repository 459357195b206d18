export { IdempotencyModule } from './idempotency.module.js';
export { Idempotent } from './idempotent.decorator.js';
export { IdempotencyInterceptor } from './idempotency.interceptor.js';
export { IdempotencyConfigurationError } from './idempotency.errors.js';
export type {
  Dialect,
  IdempotencyModuleExtras,
  IdempotencyModuleOptions,
  IdempotencyOptionsFactory,
  IdempotencyPolicy,
  Outcome,
  ScopeOption,
} from './idempotency.options.js';
export type { Duration } from './duration.js';
export { IdempotencyKey } from './keys/idempotency-key.entity.js';
export type { KeyStatus } from './keys/key-status.js';
export { IdempotencyPhase } from './phases/idempotency-phase.entity.js';
export type { InDoubt, PhaseKind, PhaseState } from './phases/phase-record.js';
export { AtomicPhase, type CurrentAttempt } from './phases/atomic-phase.js';
export type { ForeignEffect, ForeignPhase } from './phases/foreign-phase.js';
export type { Jsonified } from './phases/json.js';
export {
  LeaseLostError,
  OutcomeUnknownError,
  PhaseStoppedError,
  PhaseUsageError,
  type StopReason,
} from './phases/phase-errors.js';
export {
  Reconciler,
  type DoubtfulEffect,
  type ReconcilerMethod,
  type Reconciliation,
} from './phases/reconciler.js';
export type { GuardMode } from './phases/usage-guard.js';
