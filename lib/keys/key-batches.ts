import { Gather } from './gather.js';
import type { Ending, KeyStore, Recorded, Reservation, ReserveResult } from './key-store.js';

/** What a request asks for at its beginning, and at its end. */
type Call = { kind: 'reserve'; reservation: Reservation } | { kind: 'finish'; ending: Ending };

type Result = ReserveResult | Recorded | undefined;

/**
 * The two statements that every request needs, gathered over the requests of
 * this process: some begin while others end, and they travel together.
 */
export class KeyBatches {
  private readonly calls: Gather<Call, Result>;

  /** @param wait how long a request waits for its statement to be sent, in milliseconds */
  constructor(
    private readonly keys: KeyStore,
    wait: number,
  ) {
    this.calls = new Gather((batch) => this.send(batch), { wait, weigh });
  }

  reserve(reservation: Reservation): Promise<ReserveResult> {
    return this.calls.call({ kind: 'reserve', reservation }) as Promise<ReserveResult>;
  }

  /**
   * Undefined: the lease is lost.
   *
   * @param alone not together with others
   */
  finish(ending: Ending, alone = false): Promise<Recorded | undefined> {
    return this.calls.call({ kind: 'finish', ending }, alone) as Promise<Recorded | undefined>;
  }

  private async send(calls: readonly Call[]): Promise<Result[]> {
    const wanted: Reservation[] = [];
    const endings: Ending[] = [];
    for (const call of calls) {
      if (call.kind === 'reserve') wanted.push(call.reservation);
      else endings.push(call.ending);
    }
    if (endings.length === 0) return this.keys.reserve(wanted);
    const { reserved, recorded } =
      wanted.length > 0
        ? await this.keys.reserveAndFinish(wanted, endings)
        : { reserved: [], recorded: await this.keys.finish(endings) };
    return calls.map((call) =>
      call.kind === 'reserve' ? reserved.shift() : recorded.get(call.ending.id),
    );
  }
}

function weigh(call: Call): number {
  return call.kind === 'reserve'
    ? call.reservation.scope.length + call.reservation.key.length + 100
    : (call.ending.responseBody?.length ?? 0) + 300;
}
