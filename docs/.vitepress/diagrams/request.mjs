import { svg, text } from './svg.mjs';

const WIDTH = 960;
const STEP = 34;
const TOP = 70;

const LANES = /** @type {const} */ ({
  client: { x: 80, name: 'Client' },
  library: { x: 285, name: 'Library' },
  handler: { x: 475, name: 'Your handler' },
  database: { x: 690, name: 'PostgreSQL' },
  other: { x: 875, name: 'Other system' },
});

/** @typedef {keyof typeof LANES} Lane */

/** @type {([from: Lane, to: Lane, words: string] | [lane: Lane, words: string] | [title: string])[]} */
const STEPS = [
  ['The first request'],
  ['client', 'library', 'POST, Idempotency-Key'],
  ['library', 'key, scope, fingerprint'],
  ['library', 'database', 'reserve: one INSERT'],
  ['library', 'handler', 'run, with heartbeats'],
  ['handler', 'database', 'local phase: writes, result'],
  ['handler', 'database', 'foreign phase: its intent'],
  ['handler', 'other', 'one call, with the effect key'],
  ['other', 'handler', 'its result'],
  ['handler', 'database', 'outcome, your record'],
  ['handler', 'library', 'answer, held back'],
  ['library', 'database', 'record the answer, under the fence'],
  ['library', 'client', '201'],
  ['A retry'],
  ['client', 'library', 'same key, same body'],
  ['library', 'database', 'INSERT finds the key: read it'],
  ['library', 'client', '201, the same bytes'],
];

/** The picture of docs/concepts/life-of-a-request.md. */
export function requestDiagram() {
  const height = TOP + STEPS.length * STEP + 20;
  const lanes = Object.values(LANES).flatMap(({ x, name }) => [
    `<line x1="${x}" y1="52" x2="${x}" y2="${height - 16}" stroke="#cbd5e1" stroke-width="1.2"/>`,
    `<rect x="${x - 66}" y="18" width="132" height="34" rx="8" fill="#dbeafe" stroke="#3b82f6"/>`,
    text(x, 40, name, { type: 'strong' }),
  ]);
  const steps = STEPS.flatMap((step, index) => {
    const y = TOP + index * STEP + 18;
    if (step.length === 1) {
      return [
        `<rect x="14" y="${y - 18}" width="${WIDTH - 28}" height="24" rx="6" fill="#f1f5f9"/>`,
        text(26, y - 1, step[0], { anchor: 'start', type: 'strong' }),
      ];
    }
    if (step.length === 2) {
      const { x } = LANES[step[0]];
      return [
        `<rect x="${x - 82}" y="${y - 17}" width="164" height="24" rx="5" fill="#fef3c7" stroke="#f59e0b"/>`,
        text(x, y - 1, step[1], { type: 'small' }),
      ];
    }
    const [from, to, words] = step;
    const [start, end] = [LANES[from].x, LANES[to].x];
    // Labels stand over the arrow's first stretch, so that no line crosses them.
    const [left, right] = [Math.min(start, end), Math.max(start, end)];
    const width = words.length * 6.3 + 8;
    const middle = Math.min((left + right) / 2, right - width / 2);
    return [
      `<path class="line" d="M${start} ${y} H${end + (end > start ? -2 : 2)}" marker-end="url(#head)"/>`,
      `<rect x="${middle - width / 2}" y="${y - 18}" width="${width}" height="15" fill="#ffffff"/>`,
      text(middle, y - 6, words, { type: 'small' }),
    ];
  });
  return svg(WIDTH, height, 'The life of a request', [...lanes, ...steps]);
}
