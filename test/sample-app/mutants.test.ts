import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { forEachPlatform } from '../support/platforms.js';
import { generateMutants } from './mutants/generate.js';
import { loadMutant } from './mutants/load.js';
import { nameOf, type Mutant } from './mutants/mutant.js';
import { EVERY_ENTRY, investigate } from './mutants/scenarios.js';
import { startRocketRides, type RocketRides } from './rocket-rides.js';

const KINDS = new Set([
  'effect key removed',
  'effect key random',
  'tx not used',
  'not awaited',
  'not returned',
  'moved before',
  'moved after',
]);

const { mutants, refused, files } = generateMutants();

/** By the compiler's code: how many, and what it says of the first. */
const reasons = [...new Set(refused.map(({ fault }) => fault.code))].map((code) => {
  const [first, ...others] = refused.filter(({ fault }) => fault.code === code);
  const { mutant, fault } = first!;
  return `\n  ${1 + others.length} × ${code}, as in ${nameOf(mutant)}: ${fault.text}`;
});

// What is wrong with them has nothing to do with HTTP: one adapter shows it. The app without
// mistakes is verified on both, in crash-safety.test.ts.
forEachPlatform(
  'A mistake in Rocket Rides',
  (platform) => {
    let sample: RocketRides;
    beforeAll(async () => {
      sample = await startRocketRides(platform, { maintenance: false });
    });
    afterAll(() => sample.close());

    /** The verdict of the kit on a copy of the app with a mistake in it. */
    const verdictOn = async (mutant?: Mutant) => {
      const { app, close } = await sample.startAnother({}, [], await loadMutant(mutant, files));
      try {
        return await investigate(app, sample, mutant?.entries ?? EVERY_ENTRY);
      } finally {
        await close();
      }
    };

    it(`can be made in many places: ${mutants.length} mutants compile, ${refused.length} are refused by the compiler`, () => {
      process.stdout.write(
        `Rocket Rides: ${mutants.length} mutants, and ${refused.length} that do not compile:${reasons.join('')}\n`,
      );
      expect(new Set(mutants.map(({ kind }) => kind))).toEqual(KINDS);
      const guide = readFileSync('docs/guides/crash-safety.md', 'utf8');
      expect(guide).toContain(`${mutants.length} of these mutants compile`);
    });

    it('is not seen where there is none', async () => {
      expect(await verdictOn()).toBeUndefined();
    });

    it.each(mutants.map((mutant) => [nameOf(mutant), mutant] as const))(
      'is noticed: %s',
      async (_, mutant) => {
        const report = await verdictOn(mutant);
        expect(report?.problems.map(({ code }) => code) ?? []).not.toEqual([]);
      },
    );
  },
  ['express'],
);
