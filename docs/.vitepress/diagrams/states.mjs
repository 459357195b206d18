import { arrowsOfTable } from './arrows.mjs';
import { svg, text } from './svg.mjs';

const WIDTH = 1000;
const HEIGHT = 540;

/** Where each state stands, and its colour: open, background, final, in doubt. */
const STATES = {
  pending: { x: 230, y: 80, fill: '#ede9fe', stroke: '#8b5cf6' },
  performed: { x: 560, y: 60, fill: '#ede9fe', stroke: '#8b5cf6' },
  in_progress: { x: 230, y: 270, fill: '#dbeafe', stroke: '#3b82f6' },
  completed: { x: 620, y: 270, fill: '#dcfce7', stroke: '#22c55e' },
  expired: { x: 830, y: 130, fill: '#f3f4f6', stroke: '#9ca3af' },
  failed_retryable: { x: 230, y: 460, fill: '#dbeafe', stroke: '#3b82f6' },
  unknown: { x: 530, y: 460, fill: '#fef3c7', stroke: '#f59e0b' },
};

/**
 * How each arrow runs and what it says. A row of the table without an entry here
 * cannot be drawn, and an entry without a row is not drawn: both are errors.
 *
 * @type {Record<string, [path: string, x: number, y: number, label: string, anchor?: 'start' | 'middle' | 'end']>}
 */
const DRAWN = {
  '[*] --> in_progress': ['M62 270 H153', 106, 262, 'reserved'],
  'in_progress --> completed': ['M305 270 H543', 420, 262, 'final outcome recorded'],
  'in_progress --> failed_retryable': ['M215 290 V438', 208, 370, 'not final', 'end'],
  'failed_retryable --> in_progress': ['M245 440 V292', 252, 385, 'retry, completer', 'start'],
  'in_progress --> unknown': ['M290 290 L458 438', 352, 330, 'in doubt', 'start'],
  'in_progress --> in_progress': [
    'M175 290 C140 350 60 340 153 282',
    10,
    352,
    'lapsed, taken over',
    'start',
  ],
  'in_progress --> pending': ['M215 250 V102', 208, 180, 'left to a worker', 'end'],
  'pending --> in_progress': ['M245 100 V248', 252, 200, 'claimed', 'start'],
  'in_progress --> performed': [
    'M285 250 C330 170 400 80 483 64',
    352,
    128,
    'worker finished',
    'end',
  ],
  'performed --> in_progress': [
    'M530 80 C500 150 420 220 303 254',
    452,
    176,
    'retry renders',
    'start',
  ],
  'in_progress --> [*]': ['M303 282 C480 380 800 380 944 283', 745, 372, 'the handler never began'],
  'failed_retryable --> unknown': ['M305 454 H453', 379, 446, 'effect key forgotten'],
  'unknown --> failed_retryable': ['M455 470 H307', 379, 488, 'resolved, goes on'],
  'unknown --> completed': ['M560 440 L609 292', 592, 410, 'resolved with an answer', 'start'],
  'pending --> completed': [
    'M305 84 C420 100 560 150 600 248',
    588,
    190,
    'closed with 408',
    'start',
  ],
  'failed_retryable --> completed': [
    'M300 440 C360 400 500 380 584 292',
    428,
    402,
    'closed with 408',
    'start',
  ],
  'performed --> [*]': ['M635 52 C800 20 960 60 960 256', 800, 34, 'past retention'],
  'performed --> expired': [
    'M632 78 C700 92 720 100 757 116',
    642,
    118,
    'onExpired: gone',
    'start',
  ],
  'completed --> [*]': ['M695 270 H944', 820, 262, 'past retention'],
  'completed --> expired': [
    'M650 250 C690 200 730 180 772 152',
    722,
    218,
    'onExpired: gone',
    'start',
  ],
  'expired --> [*]': ['M880 150 L950 257', 908, 190, 'again', 'start'],
};

/** The picture of docs/concepts/states.md, made of its table. */
export function statesDiagram() {
  const arrows = arrowsOfTable().map(({ from, to }) => `${from} --> ${to}`);
  const strangers = Object.keys(DRAWN).filter((arrow) => !arrows.includes(arrow));
  const missing = arrows.filter((arrow) => !(arrow in DRAWN));
  if (strangers.length + missing.length > 0) {
    throw new Error(
      `Draw ${missing.join(', ') || 'nothing'}; remove ${strangers.join(', ') || 'nothing'}.`,
    );
  }
  return svg(WIDTH, HEIGHT, 'The states of a key', [
    ...arrows.map((arrow) => {
      const [path] = DRAWN[arrow] ?? [];
      return `<path class="line" d="${path}" marker-end="url(#head)"/>`;
    }),
    ...arrows.map((arrow) => {
      const [, x = 0, y = 0, label = '', anchor = 'middle'] = DRAWN[arrow] ?? [];
      const width = label.length * 6.4 + 4;
      const left = anchor === 'start' ? x - 2 : anchor === 'end' ? x - width + 2 : x - width / 2;
      return `<rect x="${left}" y="${y - 12}" width="${width}" height="16" fill="#ffffff" opacity="0.85"/>${text(x, y, label, { anchor, type: 'small' })}`;
    }),
    ...Object.entries(STATES).map(
      ([name, { x, y, fill, stroke }]) =>
        `<rect x="${x - 75}" y="${y - 20}" width="150" height="40" rx="8" fill="${fill}" stroke="${stroke}" stroke-width="1.5"/>${text(x, y + 5, name, { type: 'mono' })}`,
    ),
    '<circle cx="50" cy="270" r="10" fill="#1f2937"/>',
    text(50, 300, 'no key', { type: 'small' }),
    '<circle cx="960" cy="270" r="13" fill="none" stroke="#1f2937" stroke-width="1.5"/><circle cx="960" cy="270" r="8" fill="#1f2937"/>',
    text(960, 302, 'removed', { type: 'small' }),
  ]);
}
