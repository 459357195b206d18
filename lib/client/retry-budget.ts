/** As AWS's clients have it: enough for any single failure, too little to add to an outage. */
const CAPACITY = 500;
const COST = 14;

/**
 * What the retries to one host may cost together. It shrinks with each retry and
 * grows again with each outcome, so that a host in trouble is left alone.
 */
export class RetryBudget {
  private left = CAPACITY;

  take(): boolean {
    if (this.left < COST) return false;
    this.left -= COST;
    return true;
  }

  /** @param retries how many of them led to this outcome */
  giveBack(retries: number): void {
    this.left = Math.min(CAPACITY, this.left + Math.max(1, retries * COST));
  }
}
