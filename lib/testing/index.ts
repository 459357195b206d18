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
