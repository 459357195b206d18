import { Gather } from './gather.js';
import type { Ending, KeyStore, Reservation, ReserveResult } from './key-store.js';

/** About what one round trip carries without the database noticing the difference. */
const SIZE = 64;
const BYTES = 256 * 1024;

/** A few seconds of a busy process; whoever comes later would be timed out anyway. */
const QUEUE = 5_000;

/** The two statements that every request needs, gathered over the requests of this process. */
export class KeyBatches {
  private readonly reservations: Gather<Reservation, ReserveResult>;
  private readonly endings: Gather<Ending, { expiresAt: Date | null } | undefined>;

  /** @param wait how long a request waits for its statement to be sent, in milliseconds */
  constructor(keys: KeyStore, wait: number) {
    this.reservations = new Gather((batch) => keys.reserve(batch), {
      size: SIZE,
      bytes: BYTES,
      queue: QUEUE,
      wait,
      weigh: ({ scope, key }) => scope.length + key.length + 100,
    });
    this.endings = new Gather(
      async (batch) => {
        const recorded = await keys.finish(batch);
        return batch.map(({ id }) => recorded.get(id));
      },
      {
        size: SIZE,
        bytes: BYTES,
        queue: QUEUE,
        wait,
        weigh: ({ responseBody }) => (responseBody?.length ?? 0) + 300,
      },
    );
  }

  reserve(reservation: Reservation): Promise<ReserveResult> {
    return this.reservations.call(reservation);
  }

  /** Undefined: the lease is lost. */
  finish(ending: Ending): Promise<{ expiresAt: Date | null } | undefined> {
    return this.endings.call(ending);
  }
}
