// Installs what the bench compares with, the first time and after its lockfiles changed.
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { places } from './places.mjs';

/** @param {(line: string) => void} say */
export async function installPeers(say) {
  const folders = [places.bench, places.nodeIdempotency];
  const missing = [];
  for (const folder of folders) if (!(await isInstalled(folder))) missing.push(folder);
  if (missing.length === 0) return;
  say('installing the packages to compare with (npm ci --prefix bench …)');
  // One after the other: npm's cache is one, and the second waits for the first anyway.
  for (const folder of missing) {
    await promisify(execFile)('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund']);
  }
}

/**
 * npm notes in node_modules/.package-lock.json what it installed, and when.
 *
 * @param {string} folder
 */
async function isInstalled(folder) {
  const installed = await stat(join(folder, 'node_modules', '.package-lock.json')).catch(
    () => null,
  );
  const wanted = await stat(join(folder, 'package-lock.json'));
  return installed !== null && installed.mtimeMs >= wanted.mtimeMs;
}
