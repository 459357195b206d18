import { html, type Html } from './html.js';
import { number, plural } from './format.js';
import { NEWEST, type RecentKeys } from './page-queries.js';

const MINUTES = 60;
const WIDTH = 600;
const HEIGHT = 230;
const FLOOR = 205;
/** Leaves room for the number above the bars. */
const HIGHEST = FLOOR - 26;
const STEP = WIDTH / MINUTES;

/** New keys per minute over the last hour; failed and unknown ones are in another colour. */
export function trend(recent: readonly RecentKeys[]): Html {
  const minutes = Array.from({ length: MINUTES }, () => ({ all: 0, bad: 0 }));
  for (const { status, minutes: ago, count } of recent) {
    const minute = ago === null ? undefined : minutes[ago];
    if (!minute) continue;
    minute.all += count;
    if (status === 'unknown' || status === 'failed_retryable') minute.bad += count;
  }
  const most = Math.max(1, ...minutes.map(({ all }) => all));
  const total = minutes.reduce((sum, { all }) => sum + all, 0);
  const bad = minutes.reduce((sum, minute) => sum + minute.bad, 0);
  return html`<svg
      class="trend"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      role="img"
      aria-label="${plural(total, 'new key')} in the last hour, ${number(bad)} of them failed or unknown; at most ${number(most)} in a minute"
    >
      <line class="axis" x1="0" x2="${WIDTH}" y1="${FLOOR}" y2="${FLOOR}"></line>
      ${minutes.map(({ all, bad: unfinished }, ago) => bar(ago, all, unfinished, most))}
      <text x="0" y="${HEIGHT - 4}">1 hour ago</text>
      <text x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">now</text>
      <text x="0" y="18">${number(most)} a minute</text>
    </svg>
    <p class="quiet legend">
      <span class="key">new keys</span> &nbsp;
      <span class="key bad">of these failed or unknown by now</span
      >${fallsShort(recent) && html`. Only the newest ${number(NEWEST)} keys are counted, and they do not reach back an hour.`}
    </p>`;
}

function bar(ago: number, all: number, bad: number, most: number): Html | false {
  if (all === 0) return false;
  const x = WIDTH - (ago + 1) * STEP;
  const tall = round((all / most) * HIGHEST);
  // At least 1.5 pixels: one unknown key among ten thousand has to be visible.
  const red = bad === 0 ? 0 : Math.max(1.5, round((bad / most) * HIGHEST));
  const width = STEP - 2;
  return html`<g
    ><title>
      ${ago === 0 ? 'this minute' : `${ago} min ago`}: ${plural(all, 'new key')}, ${number(bad)}
      failed or unknown</title
    ><rect class="bar-good" x="${x}" y="${FLOOR - tall}" width="${width}" height="${tall}"></rect
    >${red > 0 && html`<rect class="bar-bad" x="${x}" y="${FLOOR - red}" width="${width}" height="${red}"></rect>`}</g
  >`;
}

/** Whether the newest keys are too many to reach back an hour. */
function fallsShort(recent: readonly RecentKeys[]): boolean {
  const counted = recent.reduce((sum, { count }) => sum + count, 0);
  return counted >= NEWEST && recent.every(({ minutes }) => minutes !== null);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
