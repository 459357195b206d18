// Child processes run the real thing under plain Node, which cannot read
// decorators: everything is compiled once per test run into a folder of that
// run alone, so that several runs in one checkout cannot disturb each other.
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { isAlive } from './is-alive.mjs';
import { swcOptions } from './swc-options.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
// Below node_modules, so that git, Jest, the compiler and the linter leave it alone
// while imports of installed packages still resolve.
const BUILDS = join(ROOT, 'node_modules', '.cache', 'nestjs-atomic-idempotency');
const SOURCES = [
  'lib',
  'migrations',
  'sample-app',
  'test/protocol',
  'test/servers',
  'test/soak',
  'test/support',
];

/**
 * @param {string} run the name of the test run, beginning with its process id
 * @returns {Promise<string>} the folder that holds the compiled sources
 */
export async function compileSources(run) {
  await removeAbandonedBuilds();
  const build = join(BUILDS, run);
  await mkdir(build, { recursive: true });
  await writeFile(join(build, 'package.json'), JSON.stringify(await ownManifest()));
  await Promise.all((await sourceFiles()).map((file) => compile(file, build)));
  return build;
}

/** @param {string} build */
export async function removeBuild(build) {
  await rm(build, { recursive: true, force: true });
}

/**
 * The package by its own name is this build of it, not whatever lies in `dist`.
 * @returns {Promise<object>}
 */
async function ownManifest() {
  const manifest = await readFile(join(ROOT, 'package.json'), 'utf8');
  const { name, version, type, exports } = JSON.parse(manifest.replaceAll('./dist/', './'));
  return { name, version, type, exports };
}

/** @returns {Promise<string[]>} */
async function sourceFiles() {
  const found = await Promise.all(
    SOURCES.map(async (folder) => {
      const entries = await readdir(join(ROOT, folder), { recursive: true }).catch(() => []);
      return entries.map((entry) => join(folder, entry));
    }),
  );
  return found.flat().filter((file) => /(?<!\.test|\.d)\.ts$|\.m?js$|\.json$/.test(file));
}

/**
 * @param {string} file
 * @param {string} build
 */
async function compile(file, build) {
  const target = join(build, file);
  await mkdir(dirname(target), { recursive: true });
  if (!file.endsWith('.ts')) return cp(join(ROOT, file), target);
  // A file that cannot be compiled fails the tests that load it, and no others.
  const { code } = await transformFile(join(ROOT, file), swcOptions).catch((error) => ({
    code: `throw new Error(${JSON.stringify(`${file}: ${error.message}`)});`,
  }));
  await writeFile(target.replace(/\.ts$/, '.js'), code);
}

/** What runs left that were killed before their teardown. */
async function removeAbandonedBuilds() {
  for (const name of await readdir(BUILDS).catch(() => [])) {
    if (isAlive(Number.parseInt(name, 10))) continue;
    // Another user's leftovers are theirs to remove.
    await removeBuild(join(BUILDS, name)).catch(() => undefined);
  }
}
