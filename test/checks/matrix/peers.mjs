// The sources with other peers than those of package.json, in a folder that stays for the next run.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT, run } from '../run.mjs';
import { FOLDER } from './programs.mjs';

/**
 * @param {string} name
 * @param {Record<string, string>} versions
 * @returns {Promise<string>} the folder, with the sources as they are now
 */
export async function withPeers(name, versions) {
  const cwd = join(FOLDER, name);
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  Object.assign(manifest.devDependencies, versions);
  const wanted = createHash('sha256')
    .update(JSON.stringify(manifest.devDependencies))
    .digest('hex');
  const mark = join(cwd, 'node_modules', '.peers');
  const installed = existsSync(mark) && (await readFile(mark, 'utf8')) === wanted;
  if (!installed) await rm(cwd, { recursive: true, force: true });
  await copySources(cwd);
  await writeFile(join(cwd, 'package.json'), JSON.stringify(manifest, null, 2));
  if (!installed) {
    await rm(join(cwd, 'package-lock.json'), { force: true });
    // Some of the tools that the tests use know the newest Nest only, and still work with the older.
    await run(
      'npm',
      ['install', '--prefer-offline', '--no-audit', '--no-fund', '--legacy-peer-deps'],
      {
        cwd,
      },
    );
    await writeFile(mark, wanted);
  }
  return cwd;
}

/** @param {string} folder */
async function copySources(folder) {
  const listed = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z']);
  for (const file of listed.split('\0')) {
    if (!file || !existsSync(join(ROOT, file))) continue;
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(ROOT, file), join(folder, file));
  }
}
