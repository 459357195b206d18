import { refuse, type Refused, type SeenByPerson } from './operator-result.js';
import type { SeenForDecision } from './resolution-queries.js';

/** The work is finished; at most its answer is still to be rendered. */
export function isFinished({ status }: Pick<SeenForDecision, 'status'>): boolean {
  return status === 'completed' || status === 'performed';
}

/** Its answer is the one that says that nobody finished it. */
export function wasClosed({
  status,
  recoveryPoint,
}: Pick<SeenForDecision, 'status' | 'recoveryPoint'>): boolean {
  return status === 'completed' && recoveryPoint !== 'finished';
}

export function running({ id, attempt, lapsed }: SeenForDecision): Refused {
  return lapsed
    ? refuse(
        'lapsed',
        `Attempt ${attempt} of key ${id} died; the sweeper or a retry decides what follows. Try again after that.`,
      )
    : refuse('running', `Attempt ${attempt} runs key ${id} now and will record its own outcome.`);
}

export function doubtful({ id, phase, effectKey }: SeenForDecision): Refused {
  return refuse(
    'in_doubt',
    `The outcome of phase "${phase}" of key ${id} is in doubt. Find out what became of the call and use resolve('${effectKey}', …) first.`,
  );
}

export function unresolved({ id }: SeenForDecision): Refused {
  return refuse(
    'unknown',
    `The outcome of key ${id} is unknown, and forgetting it would hide that. Resolve it first.`,
  );
}

export function kept({ id }: SeenForDecision): Refused {
  return refuse('held', `Key ${id} is held. Use releaseHold('${id}', …) first, if it may go.`);
}

/** The key has changed since a person saw it. */
export function isOutdated(
  seen: SeenByPerson | undefined,
  { status, attempt }: SeenForDecision,
): seen is SeenByPerson {
  return seen !== undefined && (seen.status !== status || seen.attempt !== attempt);
}

export function changedSince(
  seen: SeenByPerson,
  { id, status, attempt }: SeenForDecision,
): Refused {
  return refuse(
    'changed_meanwhile',
    `Key ${id} was ${seen.status} in attempt ${seen.attempt} when this was decided, and is ${status} in attempt ${attempt} now. Nothing was changed. Look at it again.`,
  );
}
