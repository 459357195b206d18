/**
 * A project as one of Nest's generators makes it, with the package added to it.
 *
 * @typedef {object} Project
 * @property {string} workspace the folder of `test/package` with its dependencies
 * @property {string} name its folder there: the generated configuration
 * @property {boolean} extensions whether its imports end in `.js`
 * @property {string[][]} tests the commands of its scripts, inside `node_modules`
 * @property {boolean} everyNode whether it runs on each line of Node, or on this one alone
 * @property {TypeCheck[]} types further checks of the types alone
 *
 * @typedef {object} TypeCheck
 * @property {string} typescript
 * @property {string[]} [flags] what differs from the project's own configuration
 */

const JEST = 'jest/bin/jest.js';
const VITEST = 'vitest/vitest.mjs';

// The declarations of the package are checked too, not only their use.
const THOROUGH = ['--skipLibCheck', 'false', '--strict'];
const NODE16 = ['--module', 'node16', '--moduleResolution', 'node16'];
const BUNDLER = ['--module', 'esnext', '--moduleResolution', 'bundler'];
// What the older configurations of Nest 11 need to be read by TypeScript 6 at all.
const IN_6 = ['--types', 'node', '--ignoreDeprecations', '6.0'];

/** @type {Project[]} */
export const PROJECTS = [
  {
    // @nestjs/schematics 11.0.2: `module: commonjs`, so classic resolution.
    workspace: 'nest-11',
    name: 'classic',
    extensions: false,
    everyNode: true,
    tests: [[JEST], [JEST, '--config', './test/jest-e2e.json']],
    types: [
      { typescript: 'typescript-5.5' },
      { typescript: 'typescript-5.7' },
      { typescript: 'typescript', flags: THOROUGH },
      { typescript: 'typescript-6.0', flags: ['--moduleResolution', 'node10', ...IN_6] },
    ],
  },
  {
    // @nestjs/schematics 11.0.10 and 11.1.0.
    workspace: 'nest-11',
    name: 'nodenext',
    extensions: false,
    // What it compiles to is what the classic one compiles to.
    everyNode: false,
    tests: [[JEST], [JEST, '--config', './test/jest-e2e.json']],
    types: [
      { typescript: 'typescript-5.5' },
      { typescript: 'typescript-5.7' },
      { typescript: 'typescript', flags: THOROUGH },
      { typescript: 'typescript-5.5', flags: NODE16 },
      { typescript: 'typescript-5.5', flags: BUNDLER },
      { typescript: 'typescript-6.0', flags: [...NODE16, ...IN_6] },
      { typescript: 'typescript-6.0', flags: [...BUNDLER, ...IN_6] },
    ],
  },
  {
    // @nestjs/schematics 12: ES modules and vitest.
    workspace: 'nest-12',
    name: 'stock',
    extensions: true,
    everyNode: true,
    tests: [
      [VITEST, 'run'],
      [VITEST, 'run', '--config', './vitest.config.e2e.ts'],
    ],
    types: [
      { typescript: 'typescript', flags: THOROUGH },
      { typescript: 'typescript', flags: NODE16 },
      { typescript: 'typescript', flags: BUNDLER },
    ],
  },
];
