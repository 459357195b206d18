import { Gather } from '../keys/gather.js';
import type { Intent, PhaseEnding, PhaseStore } from './phase-store.js';

/** What a foreign phase asks for at its beginning, and at its end. */
type Call = { kind: 'intend'; intent: Intent } | { kind: 'finish'; ending: PhaseEnding };

type Result = { startedAt: Date } | boolean | undefined;

/** A request has one phase at a time, so that fewer calls come together here than for keys. */
const FLIGHTS = 1;

/** About what a phase takes in a statement besides its request or result. */
const OVERHEAD = 300;

/**
 * What foreign phases have to record, gathered over the requests of this
 * process: some begin while others end, and they travel together.
 */
export class PhaseBatches {
  private readonly calls: Gather<Call, Result>;

  /** @param wait how long a phase waits for its statement to be sent, in milliseconds */
  constructor(
    private readonly phases: PhaseStore,
    wait: number,
  ) {
    this.calls = new Gather((batch) => this.send(batch), { wait, weigh, flights: FLIGHTS });
  }

  /** Undefined: the lease is lost. */
  intend(intent: Intent): Promise<{ startedAt: Date } | undefined> {
    return this.calls.call({ kind: 'intend', intent }) as Promise<{ startedAt: Date } | undefined>;
  }

  /** False: the lease is lost. */
  finish(ending: PhaseEnding): Promise<boolean> {
    return this.calls.call({ kind: 'finish', ending }) as Promise<boolean>;
  }

  private async send(calls: readonly Call[]): Promise<Result[]> {
    const intents: Intent[] = [];
    const endings: PhaseEnding[] = [];
    for (const call of calls) {
      if (call.kind === 'intend') intents.push(call.intent);
      else endings.push(call.ending);
    }
    const { intended, finished } = await this.phases.record(intents, endings);
    return calls.map((call) =>
      call.kind === 'intend'
        ? intended.get(call.intent.attempt.owner)
        : finished.has(call.ending.attempt.owner),
    );
  }
}

function weigh(call: Call): number {
  const text = call.kind === 'intend' ? call.intent.request : call.ending.result;
  return OVERHEAD + (text?.length ?? 0);
}
