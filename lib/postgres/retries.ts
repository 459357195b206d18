import { setTimeout as pause } from 'node:timers/promises';

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;

interface Patience {
  within: number;
  again: (error: unknown) => boolean;
}

/**
 * Repeats `work` while `again(error)` says so, with growing pauses, until
 * `within` milliseconds have passed; then it throws the last error, or the result
 * of `giveUp`.
 */
export function persist<T>(
  work: () => Promise<T>,
  patience: Patience,
  giveUp: (error: unknown) => never = raise,
): Promise<T> {
  const deadline = performance.now() + patience.within;
  // The first try nearly always succeeds, and then this costs one promise.
  return work().catch((error: unknown) => repeat(error, work, deadline, patience, giveUp));
}

function raise(error: unknown): never {
  throw error;
}

async function repeat<T>(
  firstError: unknown,
  work: () => Promise<T>,
  deadline: number,
  { again }: Patience,
  giveUp: (error: unknown) => never,
): Promise<T> {
  let error = firstError;
  for (let wait = FIRST_PAUSE; ; wait = Math.min(LONGEST_PAUSE, wait * 2)) {
    if (!again(error) || performance.now() + wait >= deadline) return giveUp(error);
    await pause(wait);
    try {
      return await work();
    } catch (next) {
      error = next;
    }
  }
}
