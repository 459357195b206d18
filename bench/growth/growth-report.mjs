import { chart } from '../report/chart.mjs';
import { writeResults } from '../report/files.mjs';
import { figure, table, withSpread } from '../report/format.mjs';
import { environmentOf } from '../report/outcome.mjs';

const COMMAND = 'npm run bench -- --growth';

/**
 * @typedef {object} Section
 * @property {string} title
 * @property {{ label: string, values: import('../sample.mjs').Values }[]} rows
 * @property {string[]} notes
 * @property {import('../targets.mjs').Result[]} targets
 */

/**
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {Section[]} sections
 */
export async function reportGrowth(stage, sections) {
  const environment = environmentOf(stage);
  const markdown = [
    `\`${COMMAND}\`: medians of interleaved rounds, with the lowest and the highest. Fastify.`,
    Object.entries(environment)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join('\n'),
    ...sections.flatMap(markdownOf),
  ].join('\n\n');
  console.log(markdown);
  const file = await writeResults('growth', {
    markdown: `# Growth\n\n![Throughput](growth.svg)\n\n${markdown}\n`,
    json: {
      command: COMMAND,
      environment,
      sections: sections.map(({ title, rows, notes, targets }) => ({
        title,
        notes,
        targets,
        rows: rows.map(({ label, values }) => ({ label, values })),
      })),
    },
    svg: chart(
      sections.map(({ title, rows }) => ({
        title,
        unit: '/s',
        bars: rows.map(({ label, values }) => ({ label, value: values.perSecond, ours: true })),
      })),
    ),
  });
  console.log(`\nWritten to ${file}, with its JSON and SVG.`);
}

/** @param {Section} section */
function markdownOf({ title, rows, notes, targets }) {
  return [
    `### ${title}`,
    table(
      ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms', 'statements', 'WAL bytes'],
      rows.map(({ label, values }) => [
        label,
        withSpread(values.perSecond),
        withSpread(values.p50),
        ...[values.p99, values.cpu, values.statements, values.log].map(({ median }) =>
          figure(median),
        ),
      ]),
    ),
    ...targets.map(({ what, bound, value, met }) =>
      value
        ? `Target: ${what} ${bound}: ${withSpread(value)}, ${met ? 'met' : '**missed**'}.`
        : `Target: ${what} ${bound}: not measured.`,
    ),
    ...notes,
  ];
}
