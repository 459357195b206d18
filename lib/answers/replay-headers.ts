import type { Answer } from './answer.js';

/** What a client needs to understand the body, and nothing about the connection or the caller. */
export const DEFAULT_REPLAY_HEADERS: readonly string[] = [
  'content-type',
  'content-language',
  'content-location',
  'location',
  'etag',
  'last-modified',
];

/**
 * Always kept: otherwise a body that the application compressed itself would be
 * replayed as if it were plain. Compression by middleware happens after the body
 * was observed, so it does not count.
 */
const PART_OF_THE_BODY = 'content-encoding';

/** Headers that are wrong, or dangerous, on any answer but the one they were made for. */
const NEVER_REPLAYED: ReadonlySet<string> = new Set([
  // They change or open a session: a replay would give it to the client that retries.
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'authentication-info',
  'www-authenticate',
  'proxy-authenticate',
  'proxy-authentication-info',
  // Hop-by-hop (RFC 9110, section 7.6.1): they describe a connection that no longer exists.
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Computed for each message: an old value would give a wrong length or a wrong time.
  'content-length',
  'date',
  'age',
  // Set by this library, for this answer.
  'idempotent-replayed',
  'idempotency-key-expires',
]);

/** CORS: what the first request's origin was allowed says nothing about the next one. */
const NEVER_REPLAYED_PREFIX = 'access-control-';

/** Those of the given names that must not be in `replayHeaders`, spelled as they were given. */
export function forbiddenReplayHeaders(names: readonly string[]): string[] {
  return names.filter((name) => {
    const lower = name.trim().toLowerCase();
    return NEVER_REPLAYED.has(lower) || lower.startsWith(NEVER_REPLAYED_PREFIX);
  });
}

/** The allow-list of an application, computed once. */
export function replayHeaderNames(replayHeaders: readonly string[] = []): readonly string[] {
  const wanted = replayHeaders.map((name) => name.trim().toLowerCase());
  return [...new Set([...DEFAULT_REPLAY_HEADERS, PART_OF_THE_BODY, ...wanted])];
}

/** The headers of an observed answer that are stored with it. `names` come from `replayHeaderNames`. */
export function pickReplayHeaders(
  observed: Answer['headers'],
  names: readonly string[],
): Answer['headers'] {
  const kept: Answer['headers'] = {};
  for (const name of names) {
    const value = observed[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
