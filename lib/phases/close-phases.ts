import type { RequestContext } from './request-context.js';

/**
 * Waits for a phase that nobody awaited, lets no further one start, and marks the
 * attempt as in doubt if an earlier attempt left a phase in doubt that this one
 * did not reach: its doubt must not be forgotten.
 */
export function closePhases(context: RequestContext): Promise<void> | undefined {
  const running = context.journal.close();
  if (running) return running.then(() => noteDoubt(context));
  noteDoubt(context);
  return undefined;
}

function noteDoubt({ attempt, journal }: RequestContext): void {
  const phase = journal.leftInDoubt;
  if (attempt && phase !== undefined) attempt.doubt ??= { phase, repeatable: true };
}
