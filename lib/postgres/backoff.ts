/** A pause that doubles with each failure, give or take half of it, so that many do not come back at once. */
export function backoff(failures: number, first: number, longest: number): number {
  const pause = Math.min(longest, first * 2 ** Math.max(0, failures - 1));
  return pause * (0.5 + Math.random());
}
