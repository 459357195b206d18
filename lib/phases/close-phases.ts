import type { RequestContext } from './request-context.js';

/** The same, and waits until the outcome of the last phase is recorded. */
export async function endPhases(context: RequestContext): Promise<void> {
  await closePhases(context);
  await context.journal.onItsWay?.settled;
}

/**
 * Waits for a phase that nobody awaited, lets no further one start, and marks the
 * attempt as in doubt if an earlier attempt left a phase in doubt that this one
 * did not reach: its doubt must not be forgotten. The outcome of the last phase may
 * still be on its way: who records the outcome of the attempt has to wait for it, or
 * to take it along.
 */
export function closePhases(context: RequestContext): Promise<void> | undefined {
  const running = context.journal.close();
  if (running) return running.then(() => noteDoubt(context));
  noteDoubt(context);
  return undefined;
}

function noteDoubt({ attempt, journal }: RequestContext): void {
  if (!attempt) return;
  attempt.onItsWay = journal.onItsWay;
  const phase = journal.leftInDoubt;
  if (phase !== undefined) attempt.doubt ??= { phase, repeatable: true };
}
