import { EventEmitter, once } from 'node:events';

/** Enough to tell which request stands still. */
export interface HeldRequest {
  path: string;
  idempotencyKey: string | undefined;
  /** The id in the ledger, where the request was held after it was booked. */
  bookedAs: string | undefined;
}

/**
 * Requests that stand still until they are released. This is how the demo kills the app "after the charge" without guessing how
 * long a charge takes.
 */
export class HeldRequests {
  private readonly held = new Map<HeldRequest, () => void>();
  private readonly arrivals = new EventEmitter();

  /** Resolves when released, or earlier when `givenUp` does: nobody waits any more. */
  async hold(request: HeldRequest, givenUp?: Promise<void>): Promise<void> {
    await new Promise<void>((release) => {
      this.held.set(request, release);
      this.arrivals.emit('held');
      void givenUp?.then(release);
    });
    this.held.delete(request);
  }

  /** Answers as soon as at least one request stands still. */
  async waitForOne(): Promise<HeldRequest[]> {
    while (this.held.size === 0) {
      await once(this.arrivals, 'held');
    }
    return [...this.held.keys()];
  }

  release(): number {
    const count = this.held.size;
    for (const release of this.held.values()) {
      release();
    }
    this.held.clear();
    return count;
  }
}
