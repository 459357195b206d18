/**
 * Everything an application uses: the module, the decorators, phases, the outbox and the operator.
 *
 * @module nestjs-atomic-idempotency
 */
export { IdempotencyModule } from './idempotency.module.js';
export { Idempotent } from './idempotent.decorator.js';
export { NotIdempotent } from './coverage/not-idempotent.decorator.js';
export { IdempotencyCoverage, type CoverageMode } from './coverage/idempotency-coverage.js';
export type { Coverage, EntryPoint } from './coverage/entry-point.js';
export { fernIdempotencyHeaders } from './fern.js';
export { IdempotencyInterceptor } from './idempotency.interceptor.js';
export { IdempotencyConfigurationError } from './policy/configuration-error.js';
export type {
  IdempotencyModuleExtras,
  IdempotencyModuleOptions,
  IdempotencyOptionsFactory,
} from './idempotency.options.js';
export type { IdempotencyPolicy, Outcome } from './policy/policy.js';
export type { ScopeOption } from './policy/policy.js';
export type { Duration } from './policy/duration.js';
export type { Limits, LimitsOption } from './limits/limits.options.js';
export type {
  DescribedProblem as IdempotencyProblem,
  Dialect,
  ProblemAnswer,
} from './answers/dialect.js';
export type { ProblemCode } from './answers/problems.js';
export { onIdempotencyEvent } from './telemetry/publish.js';
export type { EventName, IdempotencyEvents } from './telemetry/events.js';
export {
  severalHosts,
  type SeveralHosts,
  type SeveralHostsOptions,
} from './postgres/several-hosts.js';
export { IdempotencyKey } from './schema/idempotency-key.entity.js';
export { idempotencyEntities } from './schema/entities.js';
export type { KeyStatus } from './schema/key-status.js';
export { IdempotencyPhase } from './schema/idempotency-phase.entity.js';
export type { InDoubt, PhaseKind, PhaseState } from './schema/phase-record.js';
export { AtomicPhase, type CurrentAttempt } from './phases/atomic-phase.js';
export { Idempotency, type CallPolicy, type IdempotentCall } from './calls/idempotency.js';
export { IdempotencyRefusedError } from './calls/refused-call.error.js';
export { MutationRefusedError } from './graphql/mutation-refused.error.js';
export type { ForeignEffect, ForeignPhase } from './phases/foreign-phase.js';
export type { Jsonified } from './schema/json.js';
export {
  LeaseLostError,
  OutcomeUnknownError,
  PhaseStoppedError,
  PhaseUsageError,
  type StopReason,
} from './policy/phase-errors.js';
export {
  Reconciler,
  type DoubtfulEffect,
  type ReconcilerMethod,
  type Reconciliation,
} from './phases/reconciler.js';
export type { GuardMode } from './phases/usage-guard.js';
export { Resumable } from './phases/resumable.js';
export { Maintenance } from './background/maintenance.js';
export type { JobStatus } from './background/job.js';
export type { ReportedJob } from './background/process-reports.js';
export type { ReportedProcess } from './background/process-store.js';
export type { JobOptions, MaintenanceOptions } from './background/maintenance.options.js';
export { IdempotencyOperator, type KeyResolution } from './operator/idempotency-operator.js';
export type {
  OperatorAccess,
  OperatorAction,
  OperatorIntent,
  OperatorPageOptions,
  ShownEffect,
  ShownValue,
} from './operator/page/page.options.js';
export { IdempotencyHealthIndicator, type IdempotencyHealth } from './operator/health-indicator.js';
export type { DegradedAs, HealthOptions } from './operator/health.options.js';
export { IdempotencyAudit } from './schema/idempotency-audit.entity.js';
export type {
  By,
  Change,
  KeyState,
  Refusal,
  Refused,
  SeenByPerson,
} from './resolution/operator-result.js';
export type { GivenAnswer } from './answers/given-answer.js';
export type {
  KeyPage,
  KeyQuery,
  KeyReport,
  KeySummary,
  PhaseReport,
  AuditEntry,
  TimelineEntry,
} from './operator/key-report.js';
export type { Resolution } from './resolution/resolved-phase.js';
export {
  Outbox,
  type DeadLetter,
  type DeadLetterQuery,
  type OutboxMessageOptions,
} from './outbox/outbox.js';
export type { OutboxOptions } from './outbox/outbox.options.js';
export { OutboxHandler, type OutboxHandlerMethod } from './outbox/outbox-handlers.js';
export { IdempotencyDataKey } from './schema/idempotency-data-key.entity.js';
export type { EncryptionOptions } from './encryption/encryption.options.js';
export type { DataKeyContext, MasterKey, MasterKeyProvider } from './encryption/master-keys.js';
export type { Erasure, EraseOptions } from './operator/erasure.js';
export type { OpenKey, OpenMessage, OpenWork } from './operator/erasure-store.js';
export type { ReencryptReport } from './operator/reencryption.js';
export { OutboxMessage } from './schema/outbox-message.entity.js';
export type { DeliveredMessage, OutboxTransport } from './outbox/outbox-transport.js';
export { microserviceTransport, type MicroserviceClient } from './outbox/microservice-transport.js';
