import { createHash } from 'node:crypto';

/** Numbers that look random and are the same for the same seed. */
export class Random {
  private state: number;

  constructor(private readonly seed: string) {
    this.state = createHash('sha256').update(seed).digest().readUInt32LE();
  }

  /**
   * A generator of its own for one part of the work: what one part draws does not
   * change what another one draws, in whatever order they run.
   */
  fork(part: string): Random {
    return new Random(`${this.seed}/${part}`);
  }

  /** From 0 up to, and without, 1. This is mulberry32. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.integer(0, from.length - 1)]!;
  }

  shuffle<T>(given: readonly T[]): T[] {
    const left = [...given];
    const shuffled: T[] = [];
    while (left.length > 0) shuffled.push(...left.splice(this.integer(0, left.length - 1), 1));
    return shuffled;
  }
}
