import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { transform } from '@swc/core';
import type { AppModule } from '../../../sample-app/app.module.js';
import { swcOptions } from '../../support/swc-options.mjs';
import type { Mutant } from './mutant.js';

/** Of the run of the tests: the teardown removes it. */
const BUILD = process.env['TEST_BUILD'] ?? '';
let loaded = 0;

/**
 * The app with the mistake in it: a copy of the compiled sample, in which one file is another.
 * Its modules are its own, the library is the one that the test uses.
 *
 * @param files all that the app consists of, without extension
 */
export async function loadMutant(
  mutant: Pick<Mutant, 'file' | 'text'> | undefined,
  files: readonly string[],
): Promise<typeof AppModule> {
  const folder = join(BUILD, 'mutants', `${process.pid}-${(loaded += 1)}`, 'sample-app');
  for (const each of new Set(files.map((file) => dirname(file)))) {
    await mkdir(join(folder, each), { recursive: true });
  }
  await Promise.all(
    files.map((file) =>
      copyFile(join(BUILD, 'sample-app', `${file}.js`), join(folder, `${file}.js`)),
    ),
  );
  if (mutant) {
    const { code } = await transform(mutant.text, { ...swcOptions, filename: mutant.file });
    await writeFile(join(folder, mutant.file.replace(/\.ts$/, '.js')), code);
  }
  const app = (await import(join(folder, 'app.module.js'))) as { AppModule: typeof AppModule };
  return app.AppModule;
}
