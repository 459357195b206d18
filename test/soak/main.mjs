// npm run soak -- --minutes 30 --seed 7   as long as you like
// npm run soak -- --keys 150 --seed 7     until so many keys are through, as in .ci/run
//
// It is compiled like the other processes of the tests, and runs without Jest, which
// would have to be told that half an hour is no reason to give up.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { compileSources, removeBuild } from '../support/compile.mjs';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    keys: { type: 'string' },
    seed: { type: 'string', default: String(Date.now()) },
  },
});

/**
 * @param {'minutes' | 'keys'} name
 * @param {string} value
 */
function positive(name, value) {
  const number = Number(value);
  if (number > 0) return number;
  console.error(`--${name} takes a number above 0, not "${value}".`);
  process.exit(2);
}

const until = values.keys
  ? { keys: positive('keys', values.keys) }
  : { minutes: positive('minutes', values.minutes ?? '5') };

const build = await compileSources(`${process.pid}_${randomBytes(4).toString('hex')}`);
process.env.TEST_BUILD = build;
try {
  const { soak } = await import(pathToFileURL(join(build, 'test/soak/soak.js')).href);
  process.exitCode = (await soak({ seed: values.seed, until })) ? 0 : 1;
} finally {
  await removeBuild(build);
}
// Nothing that was started is left; what a closed pool still waits for does not matter.
process.exit();
