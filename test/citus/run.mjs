// The tests that run on a Citus cluster: `CITUS_URL=postgres://… npm run test:citus`, with the
// address of the coordinator; its user must be a superuser. Arguments are handed on to Jest.
// docs/guides/citus.md lists the tests that are skipped there.
import { spawnSync } from 'node:child_process';

const FOLDERS = [
  'citus/',
  'protocol/',
  'phases/',
  'leases/',
  'outbox/',
  'reaper/',
  'operator/',
  'crashes/',
  'encryption/',
  'rights/',
];

const { CITUS_URL, ...environment } = process.env;
if (!CITUS_URL) {
  console.error('CITUS_URL is not set. Give it the address of the coordinator of a Citus cluster.');
  process.exit(2);
}

const given = process.argv.slice(2);
const chosen = given.length > 0 ? given : FOLDERS.map((folder) => `test/${folder}`);
const failed = [jest(chosen)];
// It kills a worker that others need, so it runs by itself.
if (chosen.some((folder) => folder.startsWith('test/citus'))) {
  failed.push(jest(['test/citus/killed-node'], { CITUS_MAY_BE_KILLED: '1' }));
}
process.exit(Math.max(...failed));

/**
 * @param {string[]} options
 * @param {Record<string, string>} [more]
 */
function jest(options, more = {}) {
  const { status } = spawnSync(process.execPath, ['node_modules/jest/bin/jest.js', ...options], {
    stdio: 'inherit',
    env: { ...environment, DATABASE_URL: CITUS_URL, ...more },
  });
  return status ?? 1;
}
