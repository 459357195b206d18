import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { forEachPlatform } from '../support/platforms.js';
import { generateMutants } from './mutants/generate.js';
import { loadMutant } from './mutants/load.js';
import { nameOf, type Mutant } from './mutants/mutant.js';
import { investigate, SCENARIOS } from './mutants/scenarios.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const { mutants, refused, files } = generateMutants();

forEachPlatform(
  'Mistakes in Rocket Rides',
  (platform) => {
    let sample: RocketRides;
    beforeAll(async () => {
      sample = await startRocketRides(platform, { maintenance: false });
    });
    afterAll(() => sample.close());

    const problemsOf = async (mutant?: Mutant) => {
      const module = await loadMutant(mutant, files);
      const { app, close } = await sample.startAnother({}, module);
      try {
        const every = new Set(SCENARIOS.flatMap(({ entries }) => entries));
        return await investigate(app, sample, mutant?.entries ?? every);
      } finally {
        await close();
      }
    };

    it('are not there', async () => {
      expect(await problemsOf()).toBeUndefined();
    });

    it.each(mutants.map((mutant) => [nameOf(mutant), mutant] as const))('%s', async (_, mutant) => {
      const started = performance.now(); const cpu = process.cpuUsage();
      const report = await problemsOf(mutant);
      const c = process.cpuUsage(cpu);
      process.stderr.write(`${nameOf(mutant)} ${Math.round(performance.now() - started)} ms, cpu ${Math.round((c.user+c.system)/1e3)}: ${report?.runs.length} runs ${report?.problems.map(({ code, message }) => `${code} ${message}`).join(' | ')}\n`);
      expect(report?.problems.length).toBeGreaterThan(0);
    });
    it('x', () => process.stderr.write(refused.map((r) => `NO ${nameOf(r.mutant)} -- ${r.fault}`).join('\n')));
  },
  ['express'],
);
