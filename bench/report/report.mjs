import { chart } from './chart.mjs';
import { resultsName, writeResults } from './files.mjs';
import { markdownOf } from './markdown.mjs';
import { outcomeOf } from './outcome.mjs';

/**
 * Prints what was found. A full run is also written to bench/results/; the others
 * end with a line of JSON instead.
 *
 * @param {object} found
 * @param {import('../measures.mjs').Run} found.run
 * @param {import('../rounds.mjs').Rounds} found.rounds
 * @param {{ sent: number, committed: number }} found.counted
 * @param {import('../targets.mjs').Result[]} found.targets
 * @param {import('../open-loop.mjs').OpenLoop} [found.openLoop]
 */
export async function report({ run, rounds, counted, targets, openLoop }) {
  const command = run === 'full' ? 'npm run bench' : `npm run bench -- --${run}`;
  const outcome = outcomeOf(rounds, counted, targets, command, openLoop);
  const markdown = markdownOf(outcome);
  console.log(markdown);
  if (run !== 'full') {
    console.log(JSON.stringify(lineOf(outcome)));
    return;
  }
  const name = resultsName('bench');
  const file = await writeResults(name, {
    markdown: `# Bench\n\n![Throughput](${name}.svg)\n\n${markdown}`,
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
  const busy = rows.filter(({ connections, far }) => connections === 32 && !far);
  return [
    { title: 'Requests per second, Fastify, 32 connections', platform: 'fastify', rows: busy },
    { title: 'Requests per second, Express, 32 connections', platform: 'express', rows: busy },
    {
      title: 'Requests per second, Fastify, 128 connections',
      platform: 'fastify',
      rows: rows.filter(({ connections }) => connections === 128),
    },
    {
      title: 'Requests per second, Fastify, 32 connections, 1 ms to the store',
      platform: 'fastify',
      rows: rows.filter(({ connections, far }) => connections === 32 && far),
    },
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
