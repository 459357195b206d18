import { TIMES } from '../times.js';

/** Ends when nothing has ended for a while: how long all of it takes depends on the machine. */
export class Patience {
  private fewest = Number.POSITIVE_INFINITY;
  private until = 0;

  lasts(left: number): boolean {
    if (left < this.fewest) {
      this.fewest = left;
      this.until = performance.now() + TIMES.settling;
    }
    return performance.now() < this.until;
  }
}
