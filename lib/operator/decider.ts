import type { Maintenance } from '../background/maintenance.js';
import type { ReplayCache } from '../keys/replay-cache.js';
import { actorOf, refuse, type By, type Change } from '../resolution/operator-result.js';
import { changedSince, isOutdated } from '../resolution/refused.js';
import {
  stateOf,
  type ResolutionQueries,
  type SeenForDecision,
} from '../resolution/resolution-queries.js';
import type { Decide } from './decisions.js';
import { isId } from './key-search.js';

export const READ_ONLY = refuse(
  'read_only',
  'This process only reads (readOnly: true). Decide in one that has the jobs, or serves requests.',
);

/** More rounds than any race takes. */
const MOST_ROUNDS = 5;

/** Carries decisions out. Each is fenced by the state that it was based on. */
export class Decider {
  constructor(
    private readonly seen: ResolutionQueries,
    private readonly replays: ReplayCache,
    private readonly maintenance: Maintenance,
    /** The process only reads. */
    private readonly readOnly: boolean,
  ) {}

  /** About a key. */
  ofKey(id: string, by: By, decide: Decide): Promise<Change> {
    const see = async () => (isId(id) ? this.seen.key(id) : undefined);
    return this.decide(see, `There is no key ${JSON.stringify(id)}.`, by, decide);
  }

  /** About a foreign call and its key. */
  ofCall(effectKey: string, by: By, decide: Decide): Promise<Change> {
    const missing = `There is no foreign call with the effect key ${effectKey}.`;
    return this.decide(() => this.seen.effect(effectKey), missing, by, decide);
  }

  /** Reads, decides and writes; and reads again if the key has changed in between. */
  private async decide(
    see: () => Promise<SeenForDecision | undefined>,
    missing: string,
    by: By,
    decide: Decide,
  ): Promise<Change> {
    const actor = actorOf(by);
    if (!actor) return refuse('invalid', 'Say who decides this: the audit needs a name.');
    if (this.readOnly) return READ_ONLY;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const seen = await see();
      if (!seen) return refuse('not_found', missing);
      if (isOutdated(actor.seen, seen)) return changedSince(actor.seen, seen);
      const decision = decide(seen, actor);
      if (!(decision instanceof Promise)) return decision;
      const written = await decision;
      if (!written) continue;
      this.replays.clear();
      if (written.after?.status === 'unknown') this.maintenance.wake('reconciler');
      if (written.after?.status === 'failed_retryable') this.maintenance.wake('completer');
      return { changed: true, id: seen.id, before: stateOf(seen), after: written.after };
    }
    return refuse('changed_meanwhile', 'The key kept changing while this was decided. Try again.');
  }
}
