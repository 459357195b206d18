/**
 * A pause that doubles with each failure, plus or minus half of it, so that many
 * clients do not retry at once.
 */
export function backoff(failures: number, first: number, longest: number): number {
  const pause = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return pause * (0.5 + Math.random());
}
