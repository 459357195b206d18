import { debug } from '../telemetry/debug-log.js';

/**
 * The places where a process can die with a different state in the database, in
 * the order of a request. docs/concepts/phases.md says what each one leaves.
 */
export const FAULT_STEPS = [
  'reserved',
  'before_commit',
  'after_commit',
  'before_intent',
  'after_intent',
  'after_call',
  'recording:before',
  'recording:after',
] as const;

export type FaultStep = (typeof FAULT_STEPS)[number];

/** A step as one attempt reaches it. */
export interface FaultPoint {
  /** The step, after its phase if it has one: `reserved`, `charge_created:after_call`, … */
  name: string;
  step: FaultStep;
  phase?: string | undefined;
  /** Of a foreign phase. */
  effectKey?: string | undefined;
  /** The key's row. */
  keyId: string;
  attempt: number;
}

type Observer = (point: FaultPoint) => void | Promise<void>;

let observer: Observer | undefined;

/**
 * Reports every point to the observer until the returned function is called; one
 * observer at a time. Tests and the testing kit use it. In production nobody
 * observes, and a point costs two comparisons.
 */
export function observeFaultPoints(observe: Observer): () => void {
  if (observer) throw new Error('Fault points are observed already.');
  observer = observe;
  return () => {
    if (observer === observe) observer = undefined;
  };
}

/** An attempt that can simulate the death of its process. */
interface Mortal {
  id: string;
  number: number;
  loseLease(silently: boolean): void;
}

export function faultPoint(
  step: FaultStep,
  attempt: Mortal,
  phase?: { name: string; effectKey?: string },
): void | Promise<void> {
  if (debug.enabled)
    debug('key %s: attempt %d at %s', attempt.id, attempt.number, pointName(step, phase));
  if (observer) return report(observer, step, attempt, phase);
}

async function report(
  observe: Observer,
  step: FaultStep,
  attempt: Mortal,
  phase: { name: string; effectKey?: string } | undefined,
): Promise<void> {
  try {
    await observe({
      name: pointName(step, phase),
      step,
      phase: phase?.name,
      effectKey: phase?.effectKey,
      keyId: attempt.id,
      attempt: attempt.number,
    });
  } catch (error) {
    // A dead process sends no heartbeats.
    if (error instanceof SimulatedCrash) attempt.loseLease(true);
    throw error;
  }
}

function pointName(step: FaultStep, phase: { name: string } | undefined): string {
  return phase ? `${phase.name}:${step}` : step;
}

/**
 * Thrown by an observer to simulate a crash without ending the process:
 * transactions roll back, and the attempt does nothing more, as if its process
 * were dead.
 */
export class SimulatedCrash extends Error {
  constructor(readonly point: string) {
    super(`Simulated crash at ${point}`);
    this.name = 'SimulatedCrash';
  }
}

/** Runs work that a simulated crash ends: it then neither returns nor throws. */
export function mortal<T>(work: () => Promise<T>): Promise<T> {
  return work().catch((error: unknown) => {
    const dead = playDead(error);
    if (dead) return dead;
    throw error;
  });
}

/** Nothing more happens after a simulated crash; undefined for any other error. */
export function playDead(error: unknown): Promise<never> | undefined {
  return error instanceof SimulatedCrash ? new Promise<never>(() => undefined) : undefined;
}
