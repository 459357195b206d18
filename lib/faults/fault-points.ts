import { IntrinsicException } from '@nestjs/common';
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
  /** Of `after_call`: the call threw. */
  callFailed?: boolean | undefined;
  /** The key's row. */
  keyId: string;
  /** As the client sent it. */
  key: string;
  attempt: number;
  /** Of `recording:before`: what will be sent once it is on record, and what the handler threw. */
  answer?: HeldAnswer | undefined;
  error?: unknown;
}

/** An answer that is held back until its outcome is on record. */
export interface HeldAnswer {
  status: number;
  body?: Buffer | undefined;
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

/** Then what is observed has to happen one after the other. */
export function faultsAreObserved(): boolean {
  return observer !== undefined;
}

/** An attempt that can simulate the death of its process. */
interface Mortal {
  id: string;
  key: string;
  number: number;
  error: unknown;
  loseLease(silently: boolean): void;
}

/** What a step tells of its phase. */
interface PhaseAt {
  name: string;
  effectKey?: string;
  callFailed?: boolean;
}

/** A promise if somebody observes, and then it has to be awaited. */
export function faultPoint(
  step: FaultStep,
  attempt: Mortal,
  phase?: PhaseAt,
  answer?: HeldAnswer,
): Promise<void> | undefined {
  if (debug.enabled)
    debug('key %s: attempt %d at %s', attempt.id, attempt.number, pointName(step, phase));
  return observer && report(observer, step, attempt, phase, answer);
}

async function report(
  observe: Observer,
  step: FaultStep,
  attempt: Mortal,
  phase: PhaseAt | undefined,
  answer: HeldAnswer | undefined,
): Promise<void> {
  try {
    await observe({
      name: pointName(step, phase),
      step,
      phase: phase?.name,
      effectKey: phase?.effectKey,
      callFailed: phase?.callFailed,
      keyId: attempt.id,
      key: attempt.key,
      attempt: attempt.number,
      ...(answer && { answer, error: attempt.error }),
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
 * were dead. Nest does not log it.
 */
export class SimulatedCrash extends IntrinsicException {
  private end!: (error: SimulatedCrash) => void;
  /** Never settles, unless the crash is unwound. */
  readonly silence = new Promise<never>((_, reject) => (this.end = reject));

  constructor(readonly point: string) {
    super(`Simulated crash at ${point}`);
    this.name = 'SimulatedCrash';
    this.silence.catch(() => undefined);
  }

  /**
   * Lets the code that waits for the dead attempt go on with an error after all.
   * A real crash frees what it held in memory; here only its own `finally` can.
   */
  unwind(): void {
    this.end(this);
  }
}

/** Thrown by an observer at `after_call`: the call took effect, and its caller hears of an error only. */
export class SimulatedFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SimulatedFailure';
  }
}

/** Runs work that a simulated crash ends: it then neither returns nor throws. */
export function mortal<T>(work: () => Promise<T>): Promise<T> {
  if (!observer) return work();
  return work().catch((error: unknown) => {
    const dead = playDead(error);
    if (dead) return dead;
    throw error;
  });
}

/** Nothing more happens after a simulated crash; undefined for any other error. */
export function playDead(error: unknown): Promise<never> | undefined {
  return crashIn(error)?.silence;
}

/** Drivers and clients wrap what a statement or a call fails with. */
export function crashIn(error: unknown): SimulatedCrash | undefined {
  let at = error as { driverError?: unknown; cause?: unknown } | undefined;
  for (let depth = 0; typeof at === 'object' && at !== null && depth < 5; depth++) {
    if (at instanceof SimulatedCrash) return at;
    at = (at.driverError ?? at.cause) as typeof at;
  }
  return undefined;
}
