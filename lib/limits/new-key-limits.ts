import type { LimitName } from './limits.options.js';
import type { ResolvedLimits } from './resolve-limits.js';
import type { ScopeLimits } from './scope-limits.js';
import type { ScopeUsage } from './scope-usage.js';
import type { TokenBuckets } from './token-buckets.js';

/** What ends by itself, mostly: the next attempt to come in is worth it soon. */
const OUTSTANDING_RETRY = 5_000;

/** Stored keys go with their retention, which nobody wants to wait for. */
const STORED_RETRY = 59_000;

/** Whether a scope may have another key. */
export type Permission =
  | Permit
  /** @param retryIn milliseconds until it is worth asking again */
  | { kind: 'limited'; limit: LimitName; retryIn: number }
  /** Nobody knows its limits. */
  | { kind: 'unsure' };

/** For one new key. Whether the key is new shows only when it is reserved. */
export interface Permit {
  kind: 'permit';
  /** Once, in any case. @param tookKey false: there was a row, or none was made */
  decided(tookKey: boolean): void;
}

/** The limits that new keys of a scope meet: the rate first, which costs no statement. */
export class NewKeyLimits {
  constructor(
    private readonly limits: ScopeLimits,
    private readonly buckets: TokenBuckets,
    private readonly usage: ScopeUsage,
  ) {}

  async ask(scope: string): Promise<Permission> {
    const limits = await this.limits.of(scope);
    if (!limits) return { kind: 'unsure' };
    const counted = hasCounts(limits);
    if (counted) await this.usage.refresh(scope, limits);
    // From here to the end nothing is awaited, so no other request comes in between.
    const missing = limits.interval > 0 ? this.buckets.take(scope, limits) : 0;
    if (missing > 0) return { kind: 'limited', limit: 'newKeysPerSecond', retryIn: missing };
    const limit = counted ? this.usage.exceeded(scope, limits) : undefined;
    if (limit === undefined) return this.permit(scope, limits, counted);
    this.giveBackToken(scope, limits);
    const retryIn = limit === 'outstanding' ? OUTSTANDING_RETRY : STORED_RETRY;
    return { kind: 'limited', limit, retryIn };
  }

  private permit(scope: string, limits: ResolvedLimits, counted: boolean): Permit {
    if (counted) this.usage.letIn(scope);
    return {
      kind: 'permit',
      decided: (tookKey) => {
        if (counted) this.usage.decided(scope, tookKey);
        if (!tookKey) this.giveBackToken(scope, limits);
      },
    };
  }

  private giveBackToken(scope: string, limits: ResolvedLimits): void {
    if (limits.interval > 0) this.buckets.giveBack(scope, limits);
  }
}

/** Whether keys have to be counted for them. */
function hasCounts({ outstanding, storedKeys, storedBytes }: ResolvedLimits): boolean {
  return outstanding < Infinity || storedKeys < Infinity || storedBytes < Infinity;
}
