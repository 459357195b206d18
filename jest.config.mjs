import { availableParallelism } from 'node:os';

/** @type {import('jest').Config} */
const shared = {
  roots: ['<rootDir>/lib', '<rootDir>/migrations', '<rootDir>/sample-app', '<rootDir>/test'],
  // Applications of their own, with their own dependencies: see `npm run check:package`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/package/'],
  modulePathIgnorePatterns: ['<rootDir>/test/package/'],

  // Modules are loaded by Node itself, and TypeScript is compiled on the way.
  runtime: `${import.meta.dirname}/test/support/jest/runtime.mjs`,
  transform: {},
};

/** @type {import('jest').Config} */
export default {
  projects: [
    // Jest runs the global set-up of those projects only that have a test in the run:
    // a unit test by itself starts no PostgreSQL.
    {
      ...shared,
      testMatch: ['**/*.unit.test.ts'],
      testEnvironment: '<rootDir>/test/support/jest/unit-environment.mjs',
    },
    {
      ...shared,
      testMatch: ['**/!(*.unit).test.ts'],
      testEnvironment: '<rootDir>/test/support/jest/environment.mjs',
      // Each test file on its own database, see test/support/database.ts.
      globalSetup: '<rootDir>/test/support/global-setup.mjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
    },
  ],

  // Nothing in the suite waits for time to pass, so a limit only ends a test
  // that hangs; it is wide enough for a busy machine with few cores.
  testTimeout: 120_000,

  // A test waits for the database and for other processes half of its time: twice as many
  // workers as cores keep the cores busy. A few test files wait for seconds to pass, such as
  // those of a Retry-After, and on a small machine one of them would leave a core idle.
  maxWorkers: Math.max(2 * availableParallelism(), availableParallelism() + 4),
  // Node never frees a module, so a worker is replaced when it has grown this far.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  watchman: false,
};
