export { IdempotencyModule } from './idempotency.module.js';
export { Idempotent } from './idempotent.decorator.js';
export { IdempotencyInterceptor } from './idempotency.interceptor.js';
export { IdempotencyConfigurationError } from './idempotency.errors.js';
export type {
  IdempotencyModuleExtras,
  IdempotencyModuleOptions,
  IdempotencyOptionsFactory,
  IdempotencyPolicy,
  Outcome,
  ScopeOption,
} from './idempotency.options.js';
export type { Duration } from './duration.js';
export type {
  DescribedProblem as IdempotencyProblem,
  Dialect,
  ProblemAnswer,
} from './response/dialect.js';
export type { ProblemCode } from './response/problems.js';
export { IdempotencyKey } from './keys/idempotency-key.entity.js';
export { idempotencyEntities } from './keys/tables.js';
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
export { Resumable } from './background/resumable.js';
export { Maintenance } from './background/maintenance.js';
export type { JobStatus } from './background/job.js';
export type { JobOptions, MaintenanceOptions } from './background/maintenance.options.js';
export { IdempotencyOperator, type KeyResolution } from './operator/idempotency-operator.js';
export { IdempotencyAudit } from './operator/idempotency-audit.entity.js';
export type { By, Change, KeyState, Refusal, Refused } from './operator/change.js';
export type { GivenAnswer } from './operator/given-answer.js';
export type {
  KeyPage,
  KeyQuery,
  KeyReport,
  KeySummary,
  PhaseReport,
  TimelineEntry,
} from './operator/key-report.js';
export type { Resolution } from './operator/settlement.js';
export { Outbox, type DeadLetter, type OutboxMessageOptions } from './outbox/outbox.js';
export type { OutboxOptions } from './outbox/outbox.options.js';
export { OutboxHandler, type OutboxHandlerMethod } from './outbox/outbox-handlers.js';
export { OutboxMessage } from './outbox/outbox-message.entity.js';
export type { DeliveredMessage, OutboxTransport } from './outbox/outbox-transport.js';
export { microserviceTransport, type MicroserviceClient } from './outbox/microservice-transport.js';
