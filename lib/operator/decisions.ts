import type { Answer } from '../answers/answer.js';
import { refuse, type Refused } from '../resolution/operator-result.js';
import {
  doubtful,
  isFinished,
  kept,
  running,
  unresolved,
  wasClosed,
} from '../resolution/refused.js';
import type { SeenForDecision } from '../resolution/resolution-queries.js';
import type { Actor, ResolutionStore, Written } from '../resolution/resolution-store.js';
import { resolvedPhase, type Resolution } from '../resolution/resolved-phase.js';

/** Decides about a key as it was read: refuses, or writes. */
export type Decide = (
  seen: SeenForDecision,
  actor: Actor,
) => Refused | Promise<Written | undefined>;

/** What a person may do to a key in which state. */
export class Decisions {
  constructor(
    private readonly store: ResolutionStore,
    /** The answer to a request that nobody will finish. */
    private readonly unfinished: Answer,
  ) {}

  /** About the foreign call that was read with its key. */
  resolve(resolution: Resolution): Decide {
    return (seen, actor) => {
      const phase = seen.phase!;
      // An unknown key without a call in doubt is unknown for another reason.
      const evident = resolution.outcome !== 'not_executed' && seen.status !== 'unknown';
      const open = evident ? ['intended', 'withdrawn'] : ['intended'];
      if (seen.status === 'in_progress' && !seen.lapsed) return running(seen);
      if (!open.includes(seen.phaseState!) || isFinished(seen)) {
        return refuse(
          'not_in_doubt',
          `The call of phase "${phase}" is on record as ${seen.phaseState}, and key ${seen.id} is ${seen.status}.`,
        );
      }
      try {
        const resolved = resolvedPhase(resolution, phase);
        return this.store.resolvePhase(
          { ...seen, phase, phaseState: seen.phaseState! },
          resolved,
          actor,
        );
      } catch (error) {
        return refuse('invalid', String(error));
      }
    };
  }

  /** @param answer undefined: a retry may run the key */
  resolveKey(answer: Answer | undefined): Decide {
    return unlessRunning((seen, actor) => {
      if (seen.status !== 'unknown') {
        return refuse(
          'not_unknown',
          `Key ${seen.id} is ${seen.status}; only an unknown one can be resolved.`,
        );
      }
      if (seen.phase !== null) return doubtful(seen);
      return answer
        ? this.store.complete(seen, answer, actor)
        : this.store.makeRetryable(seen, actor);
    });
  }

  readonly retry = unlessRunning((seen, actor) => {
    switch (seen.status) {
      case 'completed':
      case 'expired':
        return refuse(
          'finished',
          `Key ${seen.id} is ${seen.status}: there is nothing to try again.`,
        );
      case 'performed':
        return refuse(
          'finished',
          `The operation of key ${seen.id} is finished; its client gets the answer when it retries.`,
        );
      case 'unknown':
        if (seen.phase !== null) return this.store.askAgain(seen, actor);
        return refuse(
          'nothing_to_ask',
          `Key ${seen.id} has no foreign call to ask about. Find out what happened and use resolveKey().`,
        );
      default:
        if (seen.operation !== null) return this.store.resume(seen, actor);
        return refuse(
          'no_operation',
          `Key ${seen.id} has no @Resumable() operation, so only its client can retry it.`,
        );
    }
  });

  readonly evict = unlessRunning((seen, actor) => {
    if (seen.held) return kept(seen);
    if (isFinished(seen) || seen.status === 'expired') return this.store.evict(seen, actor);
    if (seen.status === 'unknown') return unresolved(seen);
    return refuse(
      'not_finished',
      `Key ${seen.id} is ${seen.status}: what it has done so far would be done again. Use expire() to close it.`,
    );
  });

  readonly expire = unlessRunning((seen, actor) => {
    if (seen.held) return kept(seen);
    if (seen.status === 'expired' || wasClosed(seen)) {
      return refuse('expired', `Key ${seen.id} has already expired.`);
    }
    if (isFinished(seen)) return this.store.bury(seen, actor);
    if (seen.status === 'unknown') return unresolved(seen);
    if (seen.phase !== null) return doubtful(seen);
    return this.store.close(seen, this.unfinished, actor);
  });

  /** Any key can be held, also one that runs. */
  readonly hold: Decide = (seen, actor) =>
    seen.held ? refuse('held', `Key ${seen.id} is held already.`) : this.store.hold(seen, actor);

  readonly releaseHold: Decide = (seen, actor) =>
    seen.held
      ? this.store.releaseHold(seen, actor)
      : refuse('not_held', `Nobody holds key ${seen.id}.`);
}

/** A key that runs records its own outcome. */
function unlessRunning(decide: Decide): Decide {
  return (seen, actor) => (seen.status === 'in_progress' ? running(seen) : decide(seen, actor));
}
