import { takeSample, valuesOf } from '../sample.mjs';

const DURATION = 2_000;
const WARM_UP = 1_000;

/**
 * @typedef {object} Case
 * @property {string} label
 * @property {import('../setup/server.mjs').Server[]} servers
 * @property {Partial<import('../load/generator.mjs').Job> & { connections: number }} job
 */

/**
 * Measures the cases in turn, A B C A B C …
 *
 * @param {import('../setup/stage.mjs').Stage} stage
 * @param {import('../progress.mjs').Progress} progress
 * @param {Case[]} cases
 * @param {number} [rounds]
 * @returns {Promise<(Case & { values: import('../sample.mjs').Values, samples: import('../sample.mjs').Sample[] })[]>}
 */
export async function interleave(stage, progress, cases, rounds = 3) {
  const taken = cases.map((each) => ({ ...each, samples: /** @type {any[]} */ ([]) }));
  for (const { servers, job } of cases) {
    const ports = servers.map(({ port }) => port);
    const whole = { ...jobOf(job), ports };
    if (whole.replay) await stage.load.run({ ...whole, kind: 'finish' });
    await stage.load.run({ ...whole, duration: WARM_UP });
  }
  for (let round = 1; round <= rounds; round++) {
    for (const { label, servers, job, samples } of taken) {
      progress.step(`round ${round} of ${rounds}: ${label}`);
      samples.push(await takeSample(stage, servers, jobOf(job)));
    }
  }
  return taken.map((each) => ({ ...each, values: valuesOf(each.samples) }));
}

/** @param {Case['job']} job */
function jobOf(job) {
  return /** @type {const} */ ({ kind: 'load', path: '/payments', duration: DURATION, ...job });
}
