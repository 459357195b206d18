import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../run.mjs';

/** The other supported lines of Node; the suite itself runs on 20. */
const VERSIONS = ['22.23.3', '24.21.0'];

/**
 * Node's own builds, from the registry: no other download, and no install script.
 *
 * @param {string} folder
 * @returns {Promise<string[]>} the paths of the executables
 */
export async function installNodes(folder) {
  const cwd = join(folder, 'nodes');
  const build = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  await mkdir(cwd);
  await writeFile(join(cwd, 'package.json'), '{ "private": true }');
  await run(
    'npm',
    [
      'install',
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      ...VERSIONS.map((version) => `node-${version}@npm:${build}@${version}`),
    ],
    { cwd },
  );
  return VERSIONS.map((version) => join(cwd, 'node_modules', `node-${version}`, 'bin', 'node'));
}
