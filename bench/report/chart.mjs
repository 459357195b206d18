// Bars, as SVG: readable on a light and on a dark page.
import { figure } from './format.mjs';

/** For the longest label. */
const LABEL = 430;
const BARS = 380;
const ROW = 22;
const WIDTH = LABEL + BARS + 150;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .bar { fill: #8c959f }
  .ours { fill: #1f6feb }
  .spread { stroke: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .spread { stroke: #c9d1d9 }
  }`;

/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {import('../statistics.mjs').Summary} value
 * @property {boolean} ours
 */

/** @param {{ title: string, unit: string, bars: Bar[] }[]} groups */
export function chart(groups) {
  let y = 8;
  const parts = groups.flatMap(({ title, unit, bars }) => {
    const longest = Math.max(...bars.map(({ value }) => value.max));
    const x = (/** @type {number} */ value) => LABEL + (value / longest) * BARS;
    const drawn = [`<text class="title" x="0" y="${(y += 20)}">${escape(title)}</text>`];
    y += 10;
    for (const bar of bars) {
      drawn.push(...row(bar, x, y, unit));
      y += ROW;
    }
    y += 12;
    return drawn;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}">`,
    `<style>${style}\n</style>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/**
 * @param {Bar} bar
 * @param {(value: number) => number} x
 * @param {number} y
 * @param {string} unit
 */
function row({ label, value, ours }, x, y, unit) {
  const middle = y + ROW / 2 - 2;
  const end = x(value.median);
  return [
    `<text x="${LABEL - 8}" y="${y + 13}" text-anchor="end">${escape(label)}</text>`,
    `<rect class="bar${ours ? ' ours' : ''}" x="${LABEL}" y="${y}" width="${(end - LABEL).toFixed(1)}" height="${ROW - 5}" rx="2"/>`,
    `<line class="spread" x1="${x(value.min).toFixed(1)}" x2="${x(value.max).toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
    `<text x="${(x(value.max) + 8).toFixed(1)}" y="${y + 13}">${figure(value.median)} ${unit}</text>`,
  ];
}

/** @param {string} text */
function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
