import type { LimitName } from './limits.options.js';
import { MOST_KEYS, type ResolvedLimits } from './resolve-limits.js';
import { ScopeMemory } from './scope-memory.js';
import { ROW_BYTES, type Usage } from './usage-store.js';

/** How long a count is good for: for so long, keys of other processes may go unnoticed. */
const VALID_FOR = 10_000;

/** After a count that was too high, new keys are refused for this long without another one. */
const REFUSED_FOR = 1_000;

/** What is known of a scope. */
interface Known {
  /** Undefined until the first count. */
  usage: Usage | undefined;
  /** By performance.now(). */
  lookedAt: number;
  /** Attempts that ran here when it was counted. */
  running: number;
  /** New keys that were let in here since then. */
  since: number;
  /** Those that are let in and not decided yet: a count may not see them. */
  undecided: number;
  /** The count itself had no room for another key. */
  full: boolean;
  looking: Promise<void> | undefined;
}

type Look = (scope: string, limits: ResolvedLimits) => Promise<Usage>;

/**
 * What each scope has, as far as this process knows: the last count, and all new keys since
 * then as if none had ended. Only when that reaches a limit is it counted again, so the
 * ordinary request costs no statement, and this process alone exceeds no limit.
 */
export class ScopeUsage {
  private readonly known = new ScopeMemory<Known>(
    ({ undecided, looking, lookedAt }) =>
      undecided === 0 && !looking && this.now() - lookedAt >= VALID_FOR,
  );

  /** @param runningOf how many attempts of a scope run in this process; it may stop counting at `most` */
  constructor(
    private readonly look: Look,
    private readonly runningOf: (scope: string, most: number) => number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Counts if that is needed for a decision; undefined if it is not. */
  refresh(scope: string, limits: ResolvedLimits): Promise<void> | undefined {
    const known = this.of(scope);
    const age = this.now() - known.lookedAt;
    const good = known.usage && age < VALID_FOR && !exceeded(known, limits);
    if (good || (known.full && age < REFUSED_FOR)) return undefined;
    known.looking ??= this.count(scope, limits, known).finally(() => (known.looking = undefined));
    return known.looking;
  }

  /** The limit that has no room for another key. */
  exceeded(scope: string, limits: ResolvedLimits): LimitName | undefined {
    return exceeded(this.of(scope), limits);
  }

  /** A request may take a new key. */
  letIn(scope: string): void {
    const known = this.of(scope);
    known.since += 1;
    known.undecided += 1;
  }

  /** @param tookKey false: the key was not new, or it was not taken */
  decided(scope: string, tookKey: boolean): void {
    const known = this.of(scope);
    known.undecided -= 1;
    if (!tookKey) known.since -= 1;
  }

  private async count(scope: string, limits: ResolvedLimits, known: Known): Promise<void> {
    const lookedAt = this.now();
    const running = limits.outstanding < Infinity ? this.runningOf(scope, limits.outstanding) : 0;
    const { undecided: before, since: sinceBefore } = known;
    const usage = await this.look(scope, limits);
    // Of those let in before the count, the undecided ones may be missing in it; all later ones may be.
    known.since = known.since - sinceBefore + before;
    Object.assign(known, { usage, lookedAt, running });
    known.full = exceeded(known, limits) !== undefined;
  }

  private of(scope: string): Known {
    let known = this.known.get(scope);
    if (!known) {
      known = {
        usage: undefined,
        lookedAt: -Infinity,
        running: 0,
        since: 0,
        undecided: 0,
        full: false,
        looking: undefined,
      };
      this.known.set(scope, known);
    }
    return known;
  }
}

function exceeded(
  { usage, running, since }: Known,
  { outstanding, storedKeys, storedBytes }: ResolvedLimits,
): LimitName | undefined {
  if (!usage) return undefined;
  const keys = usage.keys + since;
  if (usage.waiting + running + since >= outstanding) return 'outstanding';
  if (keys >= storedKeys) return 'storedKeys';
  // More rows than are ever read: nobody knows how many bytes they have.
  const uncounted = storedBytes < Infinity && keys > MOST_KEYS;
  if (usage.bytes + (since + 1) * ROW_BYTES > storedBytes || uncounted) return 'storedBytes';
  return undefined;
}
