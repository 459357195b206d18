import { Gather } from './gather.js';
import type { Ending, KeyStore, Recorded, Reservation, ReserveResult } from './key-store.js';

/** The two statements that every request needs, gathered over the requests of this process. */
export class KeyBatches {
  private readonly reservations: Gather<Reservation, ReserveResult>;
  private readonly endings: Gather<Ending, Recorded | undefined>;

  /** @param wait how long a request waits for its statement to be sent, in milliseconds */
  constructor(keys: KeyStore, wait: number) {
    this.reservations = new Gather((batch) => keys.reserve(batch), {
      wait,
      weigh: ({ scope, key }) => scope.length + key.length + 100,
    });
    this.endings = new Gather(
      async (batch) => {
        const recorded = await keys.finish(batch);
        return batch.map(({ id }) => recorded.get(id));
      },
      { wait, weigh: ({ responseBody }) => (responseBody?.length ?? 0) + 300 },
    );
  }

  reserve(reservation: Reservation): Promise<ReserveResult> {
    return this.reservations.call(reservation);
  }

  /**
   * Undefined: the lease is lost.
   *
   * @param alone not together with others
   */
  finish(ending: Ending, alone = false): Promise<Recorded | undefined> {
    return this.endings.call(ending, alone);
  }
}
