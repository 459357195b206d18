/**
 * Named places where a process can die with a different state in the database.
 * Tests and the testing kit observe them; in production nobody does, and a
 * point costs one comparison.
 */
export interface FaultPoint {
  /** `reserved`, `<phase>:before_commit`, `<phase>:after_call`, `recording:after`, … */
  name: string;
  /** The key's row. */
  keyId: string;
  attempt: number;
}

type Observer = (point: FaultPoint) => void | Promise<void>;

let observer: Observer | undefined;

/** Has every point reported until the returned function is called. One observer at a time. */
export function observeFaultPoints(observe: Observer): () => void {
  if (observer) throw new Error('Fault points are observed already.');
  observer = observe;
  return () => {
    if (observer === observe) observer = undefined;
  };
}

/** An attempt that can play dead. */
interface Mortal {
  id: string;
  number: number;
  loseLease(): void;
}

export function faultPoint(name: string, attempt: Mortal): void | Promise<void> {
  if (observer) return report(observer, name, attempt);
}

async function report(observe: Observer, name: string, attempt: Mortal): Promise<void> {
  try {
    await observe({ name, keyId: attempt.id, attempt: attempt.number });
  } catch (error) {
    // The dead send no heartbeats.
    if (error instanceof SimulatedCrash) attempt.loseLease();
    throw error;
  }
}

/**
 * Thrown by an observer to play dead in a living process: transactions roll
 * back, and the attempt does nothing more, as if its process were gone.
 */
export class SimulatedCrash extends Error {
  constructor(readonly point: string) {
    super(`Simulated crash at ${point}`);
    this.name = 'SimulatedCrash';
  }
}

/** Runs work that a simulated crash ends for good: it then neither returns nor throws. */
export async function mortal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SimulatedCrash) return new Promise<never>(() => undefined);
    throw error;
  }
}
