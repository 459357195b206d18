import { hash } from 'node:crypto';
import { debuglog } from 'node:util';

/**
 * What happens to each key, line by line on stderr, for whoever debugs:
 * `NODE_DEBUG=idempotency`. It is off in production, so ask `debug.enabled` before
 * you build a line. A line names rows by id, routes, phases and jobs by name, and
 * clients' keys by `keyHash`: never keys, scopes, bodies, results or payloads.
 */
export const debug = debuglog('idempotency');

/** Enough to tell the keys of a debug session apart, and too little to find a key from it. */
const HASH_LENGTH = 8;

/** The same for each request of a key, in every process, so that lines can be matched. */
export function keyHash({ scope, endpoint, key }: Record<'scope' | 'endpoint' | 'key', string>) {
  // None of the three can contain a NUL.
  return hash('sha256', `${scope}\0${endpoint}\0${key}`).slice(0, HASH_LENGTH);
}
