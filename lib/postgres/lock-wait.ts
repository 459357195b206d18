/**
 * How long a statement of a request waits for a row that somebody else has
 * locked. A healthy transaction holds such a lock for milliseconds. One that does
 * not let go belongs to a process or a connection that stands still, and then
 * only the requests of that key are to notice.
 */
const LONGEST_LOCK_WAIT = '250ms';

/**
 * A condition that is always true, and bounds the waits of its statement. For
 * this statement alone, so nothing is left on the connection: safe behind a proxy
 * that pools transactions. The planner evaluates it once, before the first row.
 */
export const BOUNDED_LOCK_WAIT = `(SELECT set_config('lock_timeout', '${LONGEST_LOCK_WAIT}', true)) IS NOT NULL`;
