import type { Attempt } from './attempt.js';

/**
 * The attempts whose leases this process renews. Not a Map or a Set: while members
 * come and go, V8 replaces the table of those every few dozen members, and the old
 * table points to the new one. Once such a table has become old, each minor garbage
 * collection keeps what the later ones have held, and that is whole requests.
 */
export class HeldAttempts implements Iterable<Attempt> {
  private readonly attempts: Attempt[] = [];

  get size(): number {
    return this.attempts.length;
  }

  has(attempt: Attempt): boolean {
    return attempt.place !== undefined && this.attempts[attempt.place] === attempt;
  }

  add(attempt: Attempt): void {
    attempt.place = this.attempts.push(attempt) - 1;
  }

  /** The last one takes its place. */
  delete(attempt: Attempt): void {
    if (!this.has(attempt)) return;
    const last = this.attempts.pop()!;
    if (last !== attempt) {
      this.attempts[attempt.place!] = last;
      last.place = attempt.place;
    }
    attempt.place = undefined;
  }

  [Symbol.iterator](): Iterator<Attempt> {
    return this.attempts.values();
  }
}
