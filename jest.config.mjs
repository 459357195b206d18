import { availableParallelism } from 'node:os';
import { swcOptions } from './test/support/swc-options.mjs';

/** @type {import('jest').Config} */
const shared = {
  roots: ['<rootDir>/lib', '<rootDir>/migrations', '<rootDir>/sample-app', '<rootDir>/test'],
  // Applications of their own, with their own dependencies: see `npm run check:package`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/package/'],
  modulePathIgnorePatterns: ['<rootDir>/test/package/'],

  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', swcOptions] },
  moduleNameMapper: {
    '^@fastify/static$': '<rootDir>/test/support/no-static-files.cjs',
    // TypeScript's ESM imports name the compiled file.
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // The package by its own name, from source: no build between edit and test.
    '^nestjs-atomic-idempotency$': '<rootDir>/lib/index.ts',
    '^nestjs-atomic-idempotency/client$': '<rootDir>/lib/client/index.ts',
    '^nestjs-atomic-idempotency/client/file$': '<rootDir>/lib/client/file.ts',
    '^nestjs-atomic-idempotency/migrations$': '<rootDir>/migrations/index.ts',
    '^nestjs-atomic-idempotency/opentelemetry$': '<rootDir>/lib/opentelemetry/index.ts',
    '^nestjs-atomic-idempotency/testing$': '<rootDir>/lib/testing/index.ts',
  },
};

/** @type {import('jest').Config} */
export default {
  projects: [
    // Jest runs the global set-up of those projects only that have a test in the run:
    // a unit test by itself starts no PostgreSQL.
    {
      ...shared,
      testMatch: ['**/*.unit.test.ts'],
      testEnvironment: '<rootDir>/test/support/unit-environment.mjs',
    },
    {
      ...shared,
      testMatch: ['**/!(*.unit).test.ts'],
      testEnvironment: '<rootDir>/test/support/environment.mjs',
      // Each test file on its own database, see test/support/database.ts.
      globalSetup: '<rootDir>/test/support/global-setup.mjs',
      globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
    },
  ],

  // Nothing in the suite waits for time to pass, so a limit only ends a test
  // that hangs; it is wide enough for a busy machine with few cores.
  testTimeout: 120_000,

  // A test waits for the database and for other processes half of its time: twice as many
  // workers as cores keep the cores busy.
  maxWorkers: 2 * availableParallelism(),
  // Node never frees the modules of a finished test file (they live in a vm context),
  // so a worker is replaced when it has grown this far.
  workerIdleMemoryLimit: '1GB',
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  watchman: false,
};
