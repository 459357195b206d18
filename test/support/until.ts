import { setTimeout as delay } from 'node:timers/promises';

/** Only ends a wait for what never happens, so it is generous. */
const LIMIT = 30_000;
const PAUSE = 20;

/**
 * Asks until the answer is truthy, and returns it. For conditions that no event
 * announces, such as a row that another process writes.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what = condition.toString(),
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = Date.now() + LIMIT;
  for (;;) {
    const answer = await condition();
    if (answer) return answer as Exclude<T, undefined | null | false>;
    if (Date.now() > deadline) throw new Error(`Waited ${LIMIT / 1000} s in vain for: ${what}`);
    await delay(PAUSE);
  }
}
