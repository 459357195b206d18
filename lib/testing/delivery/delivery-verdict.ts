import type { Deviation } from '../changes/expectation.js';
import { Problems } from '../changes/problems.js';
import type { Problem } from '../verification-error.js';
import type { Counts } from '../changes/effect-watch.js';
import type { DeliveryProblemCode } from './delivery-options.js';

const DOCS = 'docs/guides/testing.md#is-my-outbox-handler-safe';

const CURES: Record<DeliveryProblemCode, string> = {
  effect_repeated:
    'A message comes at least once, always under the same id. Hand message.id on as the idempotency key of what you call; in the database, insert it into a unique column in the transaction of the effect, and do nothing where it is there already.',
  effect_raced:
    'A worker that lost its lease may still be at it. Looking first and acting then is not enough: let a unique column (INSERT … ON CONFLICT DO NOTHING) or a row lock decide, in the transaction of the effect.',
  effect_lost:
    'A delivery that failed has to do again whatever is missing. Let errors leave the handler, write all of one effect in one transaction, and do not take a note of an earlier try, or message.attempt, for a proof that the effect is there.',
  effect_differs:
    'A second delivery has to leave what the first one would have left. Compute from the payload, and not from what an earlier delivery has changed.',
  out_of_order:
    'A worker that stood still may end an earlier message after a later one. Keep the number or the time of the last message with what it changes, and ignore those that are older.',
  never_delivered:
    'Find out why the handler fails when it meets its own traces: a unique violation, for example, says that the effect is there, and is no reason to fail.',
  not_awaited:
    'Await everything the handler starts: the message counts as delivered when its promise settles, and what comes later is lost in a crash.',
  unstable: 'Give each run data of its own, message: (n) => …, or name what may differ in ignore.',
  not_as_expected: 'Correct expected, or the handler.',
  nothing_changed:
    'Give observe: () => ({ mails: … }) with counts of what the handler does outside the database, so that there is something to compare.',
};

/** What was done to the message of a run. */
export type DeliveryScenario = 'once' | 'died' | 'twice' | 'at once' | 'statement' | 'out of order';

/** Makes problems of what runs have shown, one for each cause. */
export class DeliveryVerdict {
  private readonly found = new Problems<DeliveryProblemCode>();
  /** What a second delivery in turn repeats is no race. */
  private readonly repeated = new Set<string>();

  /**
   * What comes late shows in whichever run is under way by then, so beside it nothing
   * else that the runs have shown can be relied on.
   */
  get problems(): Problem<DeliveryProblemCode>[] {
    const { list } = this.found;
    const late = list.filter(({ code }) => code === 'not_awaited');
    return late.length > 0 ? late : list;
  }

  add(code: DeliveryProblemCode, at: string, message: string, cause?: string): void {
    this.found.add({ code, at, message, cure: CURES[code], docs: DOCS }, cause ?? message);
  }

  compare(scenario: DeliveryScenario, at: string, deviations: readonly Deviation[]): void {
    for (const deviation of deviations) {
      const code = this.codeOf(scenario, deviation);
      if (code === 'effect_repeated') this.repeated.add(deviation.what);
      this.add(code, at, deviation.message, deviation.what);
    }
  }

  expect(expected: Counts | undefined, actual: Counts, at: string): void {
    for (const [name, count] of Object.entries(expected ?? {})) {
      if (actual[name] === count) continue;
      const message = `observe().${name} changed by ${actual[name] ?? 0} with one delivery, and expected says ${count}.`;
      this.add('not_as_expected', at, message);
    }
  }

  private codeOf(scenario: DeliveryScenario, { kind, what }: Deviation): DeliveryProblemCode {
    if (scenario === 'once') return 'unstable';
    if (scenario === 'out of order' && !this.repeated.has(what)) return 'out_of_order';
    if (kind === 'less') return 'effect_lost';
    if (kind === 'other') return 'effect_differs';
    const raced = scenario === 'at once' && !this.repeated.has(what);
    return raced ? 'effect_raced' : 'effect_repeated';
  }
}
