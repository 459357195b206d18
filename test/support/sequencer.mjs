import { statSync } from 'node:fs';
import { createRequire } from 'node:module';

// CommonJS with its class in `default`, which an import would not unwrap.
/** @type {{ default: typeof import('@jest/test-sequencer').default }} */
const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer');

/**
 * Folders whose files take longest, because they start processes or wait for a lease or a
 * time-out. Each of them at the end of a run would keep one worker busy while the others
 * have nothing left to do.
 */
const SLOW = [
  'leaks',
  'testing-kit',
  'client',
  'sample-app',
  'crashes',
  'processes',
  'operator-page',
  'clients',
  'leases',
  'keys',
];

/**
 * Slow folders first, then large files. Jest's own order goes by the times of an earlier run,
 * which a fresh clone does not have, and which a busy machine spoils.
 */
export default class SlowFirst extends Sequencer {
  /**
   * @override
   * @param {import('@jest/test-result').Test[]} tests
   */
  sort(tests) {
    const ranked = tests.map((test) => ({
      test,
      slow: rank(test.path),
      size: statSync(test.path).size,
    }));
    ranked.sort((one, other) => one.slow - other.slow || other.size - one.size);
    return ranked.map(({ test }) => test);
  }
}

/** @param {string} path */
function rank(path) {
  const index = SLOW.findIndex((folder) => path.includes(`/test/${folder}/`));
  return index < 0 ? SLOW.length : index;
}
