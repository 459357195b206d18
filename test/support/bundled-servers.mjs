import { execFile } from 'node:child_process';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const BUNDLER = fileURLToPath(new URL('./bundle-servers.mjs', import.meta.url));

/**
 * The folder with the servers of this test run, one file each. The first test that starts a
 * server makes it, for all workers: a run without servers does not pay for it.
 *
 * @param {string} build
 * @returns {Promise<string>}
 */
export async function bundledServers(build) {
  const made = join(build, 'bundles');
  if (await isFirst(build)) {
    const making = join(build, 'bundles-being-made');
    await mkdir(making);
    await makeBundles(build, making);
    await rename(making, made);
  }
  while (!(await isThere(made))) await pause(50);
  const failure = await readFile(join(made, 'failure'), 'utf8').catch(() => undefined);
  if (failure !== undefined) throw new Error(`The servers could not be bundled:\n${failure}`);
  return made;
}

/**
 * One of all workers makes this folder.
 * @param {string} build
 */
function isFirst(build) {
  return mkdir(join(build, 'bundles-begun')).then(
    () => true,
    () => false,
  );
}

/**
 * @param {string} build
 * @param {string} folder
 */
async function makeBundles(build, folder) {
  // Fewer collections of garbage in esbuild, which is written in Go: a quarter less time.
  const env = { ...process.env, GOGC: '800' };
  try {
    await promisify(execFile)(process.execPath, [BUNDLER, build, folder], { env });
  } catch (error) {
    await writeFile(join(folder, 'failure'), String(error));
  }
}

/** @param {string} path */
function isThere(path) {
  return access(path).then(
    () => true,
    () => false,
  );
}
