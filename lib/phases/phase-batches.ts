import { Gather } from '../keys/gather.js';
import type { PhaseStep, PhaseStore, RecordedStep } from './phase-store.js';

/** A request has one phase at a time, so that fewer calls come together here than for keys. */
const FLIGHTS = 1;

/** About what a step takes in a statement besides its request or result. */
const OVERHEAD = 300;

/**
 * What foreign phases have to record, gathered over the requests of this
 * process: some begin while others end, and they travel together.
 */
export class PhaseBatches {
  private readonly steps: Gather<PhaseStep, RecordedStep | undefined>;

  /** @param wait how long a step waits for its statement to be sent, in milliseconds */
  constructor(phases: PhaseStore, wait: number) {
    this.steps = new Gather((steps) => phases.record(steps), { wait, weigh, flights: FLIGHTS });
  }

  /** Undefined: the lease is lost. */
  record(step: PhaseStep): Promise<RecordedStep | undefined> {
    return this.steps.call(step);
  }
}

function weigh(step: PhaseStep): number {
  const text = step.state === 'intended' ? step.request : step.result;
  return OVERHEAD + (text?.length ?? 0);
}
