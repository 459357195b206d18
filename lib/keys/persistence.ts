import { setTimeout as pause } from 'node:timers/promises';

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 500;

/**
 * Repeats `work` while `again(error)` says so, with growing pauses, until
 * `within` milliseconds have passed; then the last error is thrown.
 */
export async function persist<T>(
  work: () => Promise<T>,
  { within, again }: { within: number; again: (error: unknown) => boolean },
): Promise<T> {
  const deadline = performance.now() + within;
  for (let wait = FIRST_PAUSE; ; wait = Math.min(LONGEST_PAUSE, wait * 2)) {
    try {
      return await work();
    } catch (error) {
      if (!again(error) || performance.now() + wait >= deadline) throw error;
    }
    await pause(wait);
  }
}
