/**
 * The testing kit: kills an endpoint at every point and checks what retries make of it.
 *
 * @module nestjs-atomic-idempotency/testing
 */
// The faults of one copy are not seen by another: see there.
import '../copies.js';
export { verifyCrashSafety } from './verify-crash-safety.js';
export type {
  CrashSafetyOptions,
  CrashSafetyReport,
  CrashSafetyRequest,
  CrashSafetyRun,
} from './crash-safety.js';
export {
  FAULT_STEPS,
  observeFaultPoints,
  SimulatedCrash,
  type FaultPoint,
  type FaultStep,
} from '../faults/fault-points.js';
