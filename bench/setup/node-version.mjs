// The Node that the servers under test run on. The bench itself and its load stay on their own.
import { execFile, execFileSync } from 'node:child_process';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { places } from './places.mjs';

/** @returns {string} the program: of BENCH_NODE, or the one that runs the bench */
export function nodeUnderTest() {
  return process.env.BENCH_NODE || process.execPath;
}

/** @returns {string} such as `v24.1.0` */
export function versionUnderTest() {
  if (nodeUnderTest() === process.execPath) return process.version;
  return execFileSync(nodeUnderTest(), ['--version'], { encoding: 'utf8' }).trim();
}

/**
 * Has the servers under test run on another version, which comes from npm the first time. It is the
 * package that npm's `node` chooses for the system, without the script that chooses.
 *
 * @param {string} version such as `24`
 * @param {(line: string) => void} say
 */
export async function chooseNode(version, say) {
  if (!/^\d+(\.\d+){0,2}$/.test(version)) {
    throw new Error(`--node takes a version such as 24. A program is named by BENCH_NODE.`);
  }
  const windows = process.platform === 'win32';
  const name = `node-${windows ? 'win' : process.platform}-${process.arch}`;
  const folder = join(places.root, 'node_modules', '.cache', 'bench-node', version);
  const program = join(folder, 'node_modules', name, 'bin', windows ? 'node.exe' : 'node');
  if (!(await stat(program).catch(() => null))) {
    say(`installing ${name}@${version}`);
    await mkdir(folder, { recursive: true });
    // Otherwise npm would install into the package around the folder.
    await writeFile(join(folder, 'package.json'), '{ "private": true }');
    const options = ['--no-audit', '--no-fund', '--ignore-scripts'];
    await promisify(execFile)('npm', ['install', `${name}@${version}`, ...options], {
      cwd: folder,
    });
  }
  process.env.BENCH_NODE = program;
}
