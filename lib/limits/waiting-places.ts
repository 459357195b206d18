import type { ScopeLimits } from './scope-limits.js';

/** What a process can hold, whatever the limits of single scopes are: each is an open connection of a client. */
const MOST_PER_PROCESS = 10_000;

/** The places in which duplicates of this process wait for a running attempt. */
export class WaitingPlaces {
  private readonly taken = new Map<string, number>();
  private all = 0;

  /** @param limits undefined: scopes have none */
  constructor(
    private readonly limits: ScopeLimits | undefined,
    private readonly most = MOST_PER_PROCESS,
  ) {}

  /**
   * @param ofClient whether the limit of its scope concerns it
   * @returns what gives the place back, once; undefined if there is none
   */
  async take(scope: string, ofClient = false): Promise<(() => void) | undefined> {
    const limits = ofClient && this.limits ? await this.limits.of(scope) : NO_LIMITS;
    const taken = this.taken.get(scope) ?? 0;
    if (!limits || taken >= limits.waiting || this.all >= this.most) return undefined;
    this.taken.set(scope, taken + 1);
    this.all += 1;
    return () => this.giveBack(scope);
  }

  private giveBack(scope: string): void {
    const left = this.taken.get(scope)! - 1;
    this.all -= 1;
    if (left === 0) this.taken.delete(scope);
    else this.taken.set(scope, left);
  }
}

const NO_LIMITS = { waiting: Infinity };
