import { debuglog } from 'node:util';
import type { EventName, IdempotencyEvents } from './events.js';

/**
 * What happens to each key, line by line on stderr, for debugging:
 * `NODE_DEBUG=idempotency`. It is off in production, so check `debug.enabled`
 * before you build a line. A line names rows by id, routes, phases and jobs by
 * name, and clients' keys by a hash: never keys, scopes, bodies, results or
 * payloads.
 */
export const debug = debuglog('idempotency');

type Lines = { [Name in EventName]?: (event: IdempotencyEvents[Name]) => string };

/** The events about one key, one message or one job. */
const LINES: Lines = {
  reserved: ({ route, id, key }) => `${route}: key ${id} (${key}) is reserved, attempt 1 begins`,
  taken_over: ({ route, id, key, attempt, recoveryPoint }) =>
    `${route}: key ${id} (${key}) is taken over, attempt ${attempt} begins at ${recoveryPoint}`,
  replayed: ({ route, key }) => `${route}: replayed, key ${key}`,
  accepted: ({ route, key }) => `${route}: accepted, key ${key}`,
  refused: ({ route, code, key }) =>
    `${route}: refused with ${code}${key === undefined ? '' : `, key ${key}`}`,
  limited: ({ route, limit, key }) => `${route}: over the limit ${limit}, key ${key}`,
  breaker_opened: ({ failures }) =>
    `the database has failed ${failures} times: the breaker is open`,
  breaker_closed: () => 'the database answers: the breaker is closed',
  recorded: ({ id, outcome }) => `key ${id}: recorded as ${outcome}`,
  lease_lost: ({ id, attempt }) => `key ${id}: attempt ${attempt} lost its lease`,
  became_unknown: ({ id, why }) => `key ${id}: unknown, because of ${why}`,
  phase_started: ({ id, phase, earlier }) =>
    `key ${id}: phase ${phase} ${earlier === undefined ? 'begins' : `was ${earlier} by an earlier attempt`}`,
  phase_finished: ({ id, phase }) => `key ${id}: phase ${phase} ends`,
  phase_failed: ({ id, phase, error }) => `key ${id}: phase ${phase} fails: ${error}`,
  resolved: ({ id, who, status }) => `key ${id}: resolved by ${who}, ${status} now`,
  decided: ({ id, who, action }) => `key ${id}: ${action} by ${who}`,
  erased: ({ scope, who, keys }) => `scope ${scope}: erased by ${who}, ${keys} key(s)`,
  swept: ({ id, attempt }) => `key ${id}: attempt ${attempt} is dead`,
  outbox_delivered: ({ id, topic }) => `message ${id} for ${topic}: delivered`,
  outbox_failed: ({ id, topic, error }) => `message ${id} for ${topic}: failed: ${error}`,
  outbox_dead: ({ id, topic, error }) => `message ${id} for ${topic}: dead: ${error}`,
  outbox_requeued: ({ id, topic, who }) => `message ${id} for ${topic}: requeued by ${who}`,
  job_ran: ({ job, rows }) => `job ${job}: ${rows} row(s)`,
  job_failed: ({ job, error }) => `job ${job}: fails: ${error}`,
};

export function debugLine<Name extends EventName>(name: Name, event: IdempotencyEvents[Name]) {
  const line = LINES[name]?.(event);
  if (line !== undefined) debug('%s', line);
}
