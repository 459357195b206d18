import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ROOT, run } from '../run.mjs';

/**
 * @typedef {import('./projects.mjs').Project} Project
 * @typedef {import('./lanes.mjs').Task} Task
 */

const FIXTURES = join(ROOT, 'test', 'package');

/**
 * Installs the dependencies that the projects of a workspace share.
 *
 * @param {string} folder
 * @param {string} name of the workspace
 * @param {string} tarball
 */
export async function install(folder, name, tarball) {
  const cwd = join(folder, name);
  await cp(join(FIXTURES, name), cwd, { recursive: true });
  const manifest = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'));
  manifest.dependencies['nestjs-atomic-idempotency'] = `file:${tarball}`;
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest, null, 2));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd });
}

/**
 * Gives a project the application, with imports written as its generator does.
 *
 * @param {string} folder
 * @param {Project} project
 */
export async function prepare(folder, { workspace, name, extensions }) {
  const cwd = join(folder, workspace, name);
  await cp(join(FIXTURES, 'app'), cwd, { recursive: true });
  if (extensions) return;
  for (const file of await readdir(cwd, { recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const source = await readFile(join(cwd, file), 'utf8');
    await writeFile(join(cwd, file), source.replace(/(from '\.[^']+)\.js'/g, "$1'"));
  }
}

/**
 * @param {string} folder
 * @param {Project} project
 * @returns {Task[]} to compile it as its `build` does, and to check its types in other ways
 */
export function compileIn(folder, { workspace, name, types }) {
  const cwd = join(folder, workspace, name);
  const tsc = (/** @type {string} */ version, /** @type {string[]} */ flags) => ({
    name: [workspace, name, version, ...flags].join(' '),
    work: () =>
      run(
        process.execPath,
        [join('..', 'node_modules', version, 'bin', 'tsc'), '-p', 'tsconfig.build.json', ...flags],
        { cwd },
      ),
  });
  return [
    tsc('typescript', []),
    ...types.map(({ typescript, flags = [] }) =>
      tsc(typescript, ['--noEmit', '--incremental', 'false', ...flags]),
    ),
  ];
}

/**
 * @param {string} folder
 * @param {Project} project
 * @param {string[]} nodes this one first
 * @param {() => Promise<string>} fresh makes an empty database
 * @returns {Task[]} to run it, to run its tests, and to have it refuse a second copy
 */
export function runIn(folder, { workspace, name, tests, everyNode }, nodes, fresh) {
  const cwd = join(folder, workspace, name);
  const task = (/** @type {string} */ node, /** @type {string[]} */ command) => ({
    name: `${workspace} ${name} ${nodeName(node)}: ${command.map((part) => basename(part)).join(' ')}`,
    work: async () =>
      run(node, command, { cwd, env: { DATABASE_URL: await fresh(), CI: 'true', NO_COLOR: '1' } }),
  });
  return (everyNode ? nodes : nodes.slice(0, 1)).flatMap((node) => [
    task(node, [join('dist', 'main.js')]),
    // With source maps, both copies name the same sources in their stack traces.
    task(node, ['--enable-source-maps', 'two-copies.mjs']),
    ...tests.map(([program = '', ...flags]) =>
      task(node, [join('..', 'node_modules', program), ...flags]),
    ),
  ]);
}

/** @param {string} node */
function nodeName(node) {
  return node === process.execPath
    ? `node-${process.versions.node}`
    : basename(join(node, '..', '..'));
}
