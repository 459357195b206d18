import { figure, table, withSpread } from './format.mjs';
import { openLoopMarkdown } from './open-loop.mjs';

/** @typedef {import('./outcome.mjs').Outcome} Outcome */
/** @typedef {import('./outcome.mjs').Row} Row */

/** @param {Outcome} outcome */
export function markdownOf(outcome) {
  const requests = outcome.rows.filter(({ steps, far }) => steps === undefined && !far);
  const steps = outcome.rows.filter((row) => row.steps !== undefined);
  const far = outcome.rows.filter((row) => row.far);
  const sections = [
    `\`${outcome.command}\`: medians of ${outcome.rounds} interleaved rounds, with the lowest and the highest.`,
    environment(outcome.environment),
    heading('Targets'),
    targets(outcome),
    ...['fastify', 'express'].flatMap((platform) => {
      const rows = requests.filter((row) => row.platform === platform);
      return rows.length === 0
        ? []
        : [heading(platform === 'fastify' ? 'Fastify' : 'Express'), measures('requests/s', rows)];
    }),
    ...(steps.length === 0
      ? []
      : [
          heading('Durable steps (Fastify, 5 a request, 16 connections)'),
          measures('steps/s', steps),
        ]),
    ...(far.length === 0
      ? []
      : [heading('1 ms between server and store (Fastify)'), measures('requests/s', far)]),
    heading('What a request waits for (Fastify, one connection)'),
    added(outcome),
    ...(outcome.openLoop ? [openLoopMarkdown(outcome.openLoop)] : []),
    heading('Notes'),
    notes(outcome),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** @param {string} text */
function heading(text) {
  return `### ${text}`;
}

/** @param {object} found */
export function environment(found) {
  return Object.entries(found)
    .map(([name, value]) => `- ${name}: ${value}`)
    .join('\n');
}

/** @param {Outcome} outcome */
export function targets(outcome) {
  return table(
    ['target', 'wanted', 'measured', ''],
    outcome.targets.map(({ what, bound, value, met }) =>
      value
        ? [what, bound, withSpread(value), met ? 'met' : '**missed**']
        : [what, bound, '–', 'not measured'],
    ),
  );
}

/**
 * @param {string} unit
 * @param {Row[]} rows
 */
export function measures(unit, rows) {
  return table(
    [
      '',
      unit,
      'p50 ms',
      'p99 ms',
      'cores busy',
      'CPU ms',
      'of PostgreSQL',
      'of the load',
      'statements',
      'transactions',
      'round trips',
      'WAL bytes',
    ],
    rows.map(({ label, values, failure }) =>
      values
        ? [
            label,
            withSpread(values.perSecond),
            ...[values.p50, values.p99].map(({ median }) => figure(median)),
            `${Math.round(values.busy.median * 100)} %`,
            ...[values.cpu, values.databaseCpu, values.loadCpu].map(({ median }) => figure(median)),
            ...[values.statements, values.transactions, values.trips, values.log].map(
              ({ median }) => figure(median),
            ),
          ]
        : [label, `${failure}`, ...Array(10).fill('')],
    ),
  );
}

/** @param {Outcome} outcome */
function added({ added: found }) {
  return table(
    ['what is added by', 'store', 'round trips', 'p50 ms'],
    found.map(({ what, far, trips, p50 }) => [
      what,
      far ? '1 ms away' : 'near',
      withSpread(trips),
      withSpread(p50),
    ]),
  );
}

/**
 * @param {string} where
 * @param {import('./outcome.mjs').TimedTrips} [trips]
 */
function timed(where, trips) {
  if (!trips) return [];
  const { select, insert, update } = trips;
  return [
    `A trip to the database ${where} through the same pool: SELECT 1 ${withSpread(select)} ms, INSERT ${withSpread(insert)} ms, UPDATE ${withSpread(update)} ms.`,
  ];
}

/** @param {Outcome} outcome */
function notes({ roundTrips, farRoundTrips, transactions }) {
  return [
    'Cores busy is the share of all cores that anybody used. CPU (of the Node process, of PostgreSQL and of the load generator), statements, transactions, round trips and write-ahead log are per request. Requests of a busy server share round trips; over one connection, each is one that the request waits for.',
    ...timed('that is near', roundTrips),
    ...timed('1 ms away', farRoundTrips),
    `Transactions of the whole run: the drivers counted ${figure(transactions.sent)}, PostgreSQL ${figure(transactions.committed)}.`,
  ].join('\n');
}
