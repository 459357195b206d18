import type { ResolvedLimits } from './resolve-limits.js';
import { ScopeMemory } from './scope-memory.js';

type Rate = Pick<ResolvedLimits, 'interval' | 'burst'>;

/**
 * A token bucket for each scope: `burst` tokens at most, and a new one every `interval`. A
 * bucket is one number, the time at which it will be full. One that is full is forgotten,
 * and made again when it is needed: nothing is lost with it.
 */
export class TokenBuckets {
  private readonly fullAt: ScopeMemory<number>;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.fullAt = new ScopeMemory((time) => time <= this.now());
  }

  /** How many are not full, and a few that are. */
  get size(): number {
    return this.fullAt.size;
  }

  /** Takes a token, and returns 0; or returns the milliseconds until there is one. */
  take(scope: string, { interval, burst }: Rate): number {
    const now = this.now();
    const fullAt = Math.max(now, this.fullAt.get(scope) ?? 0) + interval;
    // The smallest part of a token: rates are fractions, and sums of them are not exact.
    const missing = fullAt - now - burst * interval;
    if (missing > interval * 1e-6) return missing;
    this.fullAt.set(scope, fullAt);
    return 0;
  }

  giveBack(scope: string, { interval }: Rate): void {
    const fullAt = this.fullAt.get(scope);
    if (fullAt !== undefined) this.fullAt.set(scope, fullAt - interval);
  }
}
