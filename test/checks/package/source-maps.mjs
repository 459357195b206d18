import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { ROOT, run } from '../run.mjs';

/** A mistake of a user's, in the words of each format: it throws inside lib/phases/. */
const MISTAKE = `new AtomicPhase().local('charged', async () => 1).catch((e) => console.log(e.stack))`;
const FORMATS = {
  'ES modules': [
    '--input-type=module',
    '-e',
    `import { AtomicPhase } from 'nestjs-atomic-idempotency'; ${MISTAKE}`,
  ],
  CommonJS: ['-e', `const { AtomicPhase } = require('nestjs-atomic-idempotency'); ${MISTAKE}`],
};

/**
 * Each compiled file has a map, and each map holds the source that it names. The
 * path in a stack trace is then the one of the repository, and a debugger shows
 * the source without a checkout.
 *
 * @param {string[]} files of the package
 * @param {string} installed the folder that holds them
 */
export async function checkSourceMaps(files, installed) {
  const compiled = files.filter((file) => file.endsWith('.js'));
  for (const file of compiled) {
    const map = JSON.parse(await readFile(join(installed, `${file}.map`), 'utf8'));
    const [source = '', ...others] = map.sources;
    const path = relative(installed, resolve(installed, dirname(file), source));
    const text = await readFile(join(ROOT, path), 'utf8');
    if (others.length > 0 || map.sourcesContent?.[0] !== text) {
      throw new Error(`The map of ${file} does not hold ${path} as it is in the repository.`);
    }
  }
  console.log(`The ${compiled.length} source maps of the package hold their sources.`);
}

/**
 * @param {string} cwd a folder in which the package is installed
 */
export async function checkStackTraces(cwd) {
  for (const [format, command] of Object.entries(FORMATS)) {
    const stack = await run(process.execPath, ['--enable-source-maps', ...command], { cwd });
    const [, file = '', line = ''] = /[/\\](lib[/\\][^:]+\.ts):(\d+):\d+\)?$/m.exec(stack) ?? [];
    const source = file && (await readFile(join(ROOT, file), 'utf8')).split('\n')[Number(line) - 1];
    if (!source?.includes('new PhaseUsageError(')) {
      throw new Error(`A stack trace of the package (${format}) does not lead to lib:\n${stack}`);
    }
    console.log(`A stack trace of the package (${format}) leads to ${file}:${line}.`);
  }
}
