import { interleave } from './interleave.mjs';

/**
 * The same key many times at once, with `onInProgress: 'wait'`: all get the
 * answer of the one that ran. The handler itself takes 250 ms.
 *
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {import('../progress.mjs').Progress} progress
 * @returns {Promise<import('./growth-report.mjs').Section>}
 */
export async function duplicates(stage, progress) {
  const servers = [await stage.start('ours', 'fastify')];
  const rows = await interleave(
    stage,
    progress,
    [1, 2, 32, 256].map((connections) => ({
      label: connections === 1 ? 'one request' : `${connections} duplicates`,
      servers,
      job: { kind: 'burst', path: '/slow', connections },
    })),
  );
  return {
    title: 'Duplicates that wait for a handler of 250 ms (times are of a whole burst)',
    rows,
    notes: [],
    targets: [],
  };
}
