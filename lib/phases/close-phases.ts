import type { RequestContext } from './request-context.js';

/**
 * Waits for a phase that nobody awaited, lets none start any more, and notes a
 * doubt of an earlier attempt that this one did not come to: it may not be
 * forgotten by an end that took another way.
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
