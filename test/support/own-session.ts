import { it } from '@jest/globals';

/**
 * `it`, for a test that looks at its session on the server or changes it. Behind a proxy that pools
 * transactions (`DATABASE_PROXY_URL`) no session belongs to a client, so there it is skipped.
 *
 * @param why what of the session it needs
 */
export function needsOwnSession(why: string): typeof it | typeof it.skip {
  if (!process.env.DATABASE_PROXY_URL) return it;
  process.stderr.write(`Skipped behind a proxy that pools transactions: it needs ${why}.\n`);
  return it.skip;
}
