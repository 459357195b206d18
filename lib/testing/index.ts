/**
 * The testing kit: breaks an endpoint at every point and checks what retries make of it.
 *
 * @module nestjs-atomic-idempotency/testing
 */
// The faults of one copy are not seen by another: see there.
import '../copies.js';
export { verifyCrashSafety } from './verify-crash-safety.js';
export type {
  Counts,
  CrashSafetyOptions,
  CrashSafetyProgress,
  CrashSafetyRequest,
  IgnoreOptions,
  RequestSource,
} from './crash-safety.options.js';
export {
  CrashSafetyError,
  type CrashSafetyProblem,
  type CrashSafetyReport,
  type CrashSafetyRun,
  type KitAnswer,
  type OutgoingTally,
  type TableTally,
} from './crash-safety.report.js';
export type { ProblemCode as CrashSafetyProblemCode } from './verdict/cures.js';
export {
  FAULT_STEPS,
  observeFaultPoints,
  SimulatedCrash,
  type FaultPoint,
  type FaultStep,
  type HeldAnswer,
} from '../faults/fault-points.js';
export { FakeAtomicPhase, type FakeAtomicPhaseOptions } from './fakes/fake-atomic-phase.js';
export { FakePhaseError, type FakeFailure } from './fakes/fake-failures.js';
export type { FakeResume } from './fakes/fake-resume.js';
export type { FakePhase } from './fakes/heard-phase.js';
export { FakeOutbox, type FakeMessage } from './fakes/fake-outbox.js';
export { FakeIdempotencyOperator, type FakeDecision } from './fakes/fake-operator.js';
export {
  provideIdempotencyForTests,
  type IdempotencyForTestsOptions,
} from './fakes/provide-for-tests.js';
export { IdempotencyTestingModule } from './fakes/testing-module.js';
export { VerificationError, type Problem } from './verification-error.js';
export { verifyDelivery } from './delivery/verify-delivery.js';
export type {
  DeliveryOptions,
  DeliveryProblemCode,
  DeliveryReport,
  DeliveryRun,
  KitMessage,
} from './delivery/delivery-options.js';
export { verifyReconciler } from './reconciler/verify-reconciler.js';
export type {
  ReconcilerOptions,
  ReconcilerProblemCode,
  ReconcilerReport,
  ReconcilerRun,
} from './reconciler/reconciler-options.js';
