// The little statistics that a bench needs.

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} q from 0 to 1
 * @returns {number} NaN where there are no values
 */
export function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * @typedef {object} Summary
 * @property {number} median
 * @property {number} min
 * @property {number} max
 */

/**
 * @param {readonly number[]} values
 * @returns {Summary}
 */
export function summarize(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), min: quantile(sorted, 0), max: quantile(sorted, 1) };
}

/**
 * The ratio within each round, then the median over the rounds: what slows the
 * machine down for a while slows both sides down, and drops out.
 *
 * @param {readonly number[]} ours by round
 * @param {readonly number[]} theirs by round
 * @returns {Summary}
 */
export function ratio(ours, theirs) {
  return summarize(ours.map((value, round) => value / /** @type {number} */ (theirs[round])));
}
