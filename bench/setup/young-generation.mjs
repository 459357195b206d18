// The part of V8's heap in which objects begin their lives.

/**
 * V8 enlarges it as long as objects survive in it, and a server with a larger one takes longer for
 * the same short requests. So what a server has done before counts. This gives all servers under
 * test the same one from the beginning.
 *
 * @param {string} megabytes of each of its halves; 16 is the most that V8 takes by itself
 */
export function chooseYoungGeneration(megabytes) {
  const size = Number(megabytes);
  if (!(Number.isInteger(size) && size >= 1 && size <= 16)) {
    throw new Error('--young takes whole megabytes, from 1 to 16.');
  }
  process.env.BENCH_YOUNG = String(size);
}

/** @returns {string[]} arguments of Node for a server under test */
export function youngGeneration() {
  const size = process.env.BENCH_YOUNG;
  return size ? [`--min-semi-space-size=${size}`, `--max-semi-space-size=${size}`] : [];
}
