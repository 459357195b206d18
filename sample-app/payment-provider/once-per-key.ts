/** The same Idempotency-Key came with another request: refused, nothing booked. */
export class KeyReusedError extends Error {}

/** Entries of the ledger that are made once per idempotency key, for as long as the ledger exists. */
export class OncePerKey<R extends object, E extends R & { id: string; idempotencyKey: string }> {
  /**
   * Holds the promise, not the finished entry: a second request that arrives
   * while the first is still being written must find it.
   */
  private readonly entries = new Map<string, Promise<E>>();

  /** What is in the ledger from earlier. */
  remember(entry: E): void {
    this.entries.set(entry.idempotencyKey, Promise.resolve(entry));
  }

  find(idempotencyKey: string): Promise<E> | undefined {
    return this.entries.get(idempotencyKey);
  }

  /** The entry of this key; `book` is only called where there is none. */
  async entryOf(idempotencyKey: string, request: R, book: () => Promise<E>): Promise<E> {
    let booking = this.entries.get(idempotencyKey);
    if (!booking) {
      booking = book();
      this.entries.set(idempotencyKey, booking);
    }
    const entry = await booking;
    for (const [field, value] of Object.entries(request)) {
      if (entry[field as keyof R] !== value) {
        throw new KeyReusedError(`The key ${idempotencyKey} belongs to ${entry.id}.`);
      }
    }
    return entry;
  }
}
