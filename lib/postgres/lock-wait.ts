/**
 * How long a statement of a request waits for a row that somebody else has
 * locked. A healthy transaction holds such a lock for milliseconds. One that
 * holds it longer belongs to a process or a connection that hangs, and then only
 * the requests of that key should be affected.
 */
const LONGEST_LOCK_WAIT = '250ms';

/**
 * A condition that is always true, and bounds the waits of its statement. It
 * applies to this statement only and leaves nothing on the connection: safe
 * behind a transaction-pooling proxy. The planner evaluates it once, before the
 * first row.
 */
export const BOUNDED_LOCK_WAIT = `(SELECT set_config('lock_timeout', '${LONGEST_LOCK_WAIT}', true)) IS NOT NULL`;
