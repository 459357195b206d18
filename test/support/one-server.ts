import { it } from '@jest/globals';
import { onCluster } from './cluster.js';

/**
 * `it`, for a test of what only a single server has. On a cluster (`npm run test:citus`) it is
 * skipped; docs/guides/citus.md lists such tests.
 *
 * @param why what of it the test needs
 */
export function needsOneServer(why: string): typeof it | typeof it.skip {
  if (!onCluster) return it;
  process.stderr.write(`Skipped on a cluster: it needs ${why}.\n`);
  return it.skip;
}
