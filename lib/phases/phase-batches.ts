import { Gather } from '../keys/gather.js';
import type { Intent, PhaseEnding, PhaseStore } from './phase-store.js';

/** About what a phase takes in a statement besides its request or result. */
const OVERHEAD = 300;

/** What foreign phases have to record, gathered over the requests of this process. */
export class PhaseBatches {
  private readonly intents: Gather<Intent, { startedAt: Date } | undefined>;
  private readonly endings: Gather<PhaseEnding, boolean>;

  /** @param wait how long a phase waits for its statement to be sent, in milliseconds */
  constructor(phases: PhaseStore, wait: number) {
    this.intents = new Gather((batch) => phases.intend(batch), {
      flights: 1,
      wait,
      weigh: ({ request }) => OVERHEAD + (request?.length ?? 0),
    });
    this.endings = new Gather((batch) => phases.finishAlone(batch), {
      flights: 1,
      wait,
      weigh: ({ result }) => OVERHEAD + (result?.length ?? 0),
    });
  }

  /** Undefined: the lease is lost. */
  intend(intent: Intent): Promise<{ startedAt: Date } | undefined> {
    return this.intents.call(intent);
  }

  /** False: the lease is lost. */
  finish(ending: PhaseEnding): Promise<boolean> {
    return this.endings.call(ending);
  }
}
