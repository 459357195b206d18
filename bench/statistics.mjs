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
 * Where the median of endlessly many rounds is, with a confidence of at least 95 %. It assumes that
 * rounds do not depend on one another, and nothing of how they differ: the number of them on either
 * side of the median is that of coins that fall on either side.
 *
 * @param {readonly number[]} values at least six
 * @returns {{ low: number, high: number }}
 */
export function medianInterval(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let outside = 0;
  // The chance of exactly `at` heads among `count` coins; their sum stays below 2.5 % on either side.
  let chance = 0.5 ** count;
  let chanceBelow = chance;
  for (let at = 0; chanceBelow <= 0.025; at += 1) {
    outside = at + 1;
    chance *= (count - at) / (at + 1);
    chanceBelow += chance;
  }
  if (outside === 0) throw new Error(`${count} rounds are too few for a confidence of 95 %.`);
  return {
    low: sorted[outside - 1] ?? NaN,
    high: sorted[count - outside] ?? NaN,
  };
}

/**
 * The ratio within each round: what slows the machine down for a while slows both
 * sides down, and drops out.
 *
 * @param {readonly number[]} ours by round
 * @param {readonly number[]} theirs by round
 */
export function ratios(ours, theirs) {
  return ours.map((value, round) => value / /** @type {number} */ (theirs[round]));
}

/**
 * And the median of them over the rounds.
 *
 * @param {readonly number[]} ours by round
 * @param {readonly number[]} theirs by round
 * @returns {Summary}
 */
export function ratio(ours, theirs) {
  return summarize(ratios(ours, theirs));
}
