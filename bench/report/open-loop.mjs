import { figure, table, withSpread } from './format.mjs';

/** @param {import('../open-loop.mjs').OpenLoop} found */
export function openLoopMarkdown(found) {
  const sections = found.rates.length === 0 ? [] : [introduction(found), percentiles(found)];
  return ['### Open loop (Fastify)', ...sections, ...found.missing].join('\n\n');
}

/** @param {import('../open-loop.mjs').OpenLoop} found */
function introduction({ capacities }) {
  const all = capacities.map(({ label, perSecond }) => `${label} ${withSpread(perSecond)}`);
  return [
    'Requests leave at a fixed rate, and a latency counts from the planned time.',
    `The rates are shares of the capacity of the slowest one with a key; capacities, in requests/s over 32 connections: ${all.join('; ')}.`,
    'Milliseconds, over all rounds together. Added is the percentile less that of the bare route.',
  ].join(' ');
}

/** @param {import('../open-loop.mjs').OpenLoop} found */
function percentiles({ rates }) {
  return table(
    ['', 'rate', 'requests', 'p50', 'p99', 'p99.9', 'added p50', 'added p99', 'added p99.9'],
    rates.flatMap(({ share, perSecond, rows }) =>
      rows.map(({ label, requests, latency, added }) => [
        label,
        `${share * 100} %: ${figure(perSecond)}/s`,
        figure(requests),
        ...[latency.p50, latency.p99, latency.p999].map(figure),
        ...(added ? [added.p50, added.p99, added.p999].map(figure) : ['', '', '']),
      ]),
    ),
  );
}
