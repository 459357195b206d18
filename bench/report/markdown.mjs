import { figure, table, withSpread } from './format.mjs';

/** @typedef {import('./outcome.mjs').Outcome} Outcome */
/** @typedef {import('./outcome.mjs').Row} Row */

/** @param {Outcome} outcome */
export function markdownOf(outcome) {
  const requests = outcome.rows.filter(({ steps }) => steps === undefined);
  const sections = [
    `\`${outcome.command}\`: medians of ${outcome.rounds} interleaved rounds, with the lowest and the highest.`,
    environment(outcome),
    heading('Targets'),
    targets(outcome),
    ...['fastify', 'express'].flatMap((platform) => {
      const rows = requests.filter((row) => row.platform === platform);
      return rows.length === 0
        ? []
        : [heading(platform === 'fastify' ? 'Fastify' : 'Express'), measures('requests/s', rows)];
    }),
    heading('Durable steps (Fastify, 5 a request, 16 connections)'),
    measures(
      'steps/s',
      outcome.rows.filter(({ steps }) => steps !== undefined),
    ),
    notes(outcome),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** @param {string} text */
function heading(text) {
  return `### ${text}`;
}

/** @param {Outcome} outcome */
function environment({ environment: found }) {
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
            ...[values.statements, values.transactions, values.log].map(({ median }) =>
              figure(median),
            ),
          ]
        : [label, `${failure}`, ...Array(9).fill('')],
    ),
  );
}

/** @param {Outcome} outcome */
function notes({ roundTrips, transactions }) {
  const { select, insert, update } = roundTrips;
  return [
    'Cores busy is the share of all cores that anybody used. CPU (of the Node process, of PostgreSQL and of the load generator), statements, transactions and write-ahead log are per request.',
    `A trip to the database through the same pool: SELECT 1 ${withSpread(select)} ms, INSERT ${withSpread(insert)} ms, UPDATE ${withSpread(update)} ms.`,
    `Transactions of the whole run: the drivers counted ${figure(transactions.sent)}, PostgreSQL ${figure(transactions.committed)}.`,
  ].join('\n');
}
