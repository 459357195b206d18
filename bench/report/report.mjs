import { chart } from './chart.mjs';
import { writeResults } from './files.mjs';
import { markdownOf } from './markdown.mjs';
import { outcomeOf } from './outcome.mjs';

/**
 * Prints what was found. A full run is also written to bench/results/; a quick
 * one ends with a line of JSON instead.
 *
 * @param {object} found
 * @param {boolean} found.quick
 * @param {import('../rounds.mjs').Rounds} found.rounds
 * @param {{ sent: number, committed: number }} found.counted
 * @param {import('../targets.mjs').Result[]} found.targets
 */
export async function report({ quick, rounds, counted, targets }) {
  const command = quick ? 'npm run bench -- --quick' : 'npm run bench';
  const outcome = outcomeOf(rounds, counted, targets, command);
  const markdown = markdownOf(outcome);
  console.log(markdown);
  if (quick) {
    console.log(JSON.stringify(lineOf(outcome)));
    return;
  }
  const file = await writeResults('bench', {
    markdown: `# Bench\n\n![Throughput](bench.svg)\n\n${markdown}`,
    json: outcome,
    svg: chart(groupsOf(outcome)),
  });
  console.log(`Written to ${file}, with its JSON and SVG.`);
}

/**
 * One line for a machine: the ratios, and whether each target is met.
 *
 * @param {import('./outcome.mjs').Outcome} outcome
 */
function lineOf({ rounds, targets }) {
  const ratios = targets.map(({ id, value }) => [id, value ? round(value.median) : null]);
  const met = targets.map(({ id, met: reached }) => [id, reached ?? null]);
  return { rounds, ratios: Object.fromEntries(ratios), met: Object.fromEntries(met) };
}

/** @param {number} value */
function round(value) {
  return Number(value.toFixed(3));
}

/** @param {import('./outcome.mjs').Outcome} outcome */
function groupsOf({ rows }) {
  const busy = rows.filter(({ connections }) => connections === 32);
  return [
    { title: 'Requests per second, Fastify, 32 connections', platform: 'fastify', rows: busy },
    { title: 'Requests per second, Express, 32 connections', platform: 'express', rows: busy },
    {
      title: 'Durable steps per second, Fastify, 16 connections',
      platform: 'fastify',
      rows: rows.filter(({ steps }) => steps !== undefined),
    },
  ].map(({ title, platform, rows: all }) => ({
    title,
    unit: '/s',
    bars: all.flatMap((row) =>
      row.values && row.platform === platform
        ? [{ label: row.label, value: row.values.perSecond, ours: row.contender === 'ours' }]
        : [],
    ),
  }));
}
