/**
 * A condition that is always true, and lets its statement commit without waiting
 * for the disk or a standby. A crash of the server within the next moments may
 * lose what it wrote, and nothing else; each later commit that does wait keeps it
 * as well, because the server writes its log in order. It applies to this
 * transaction only and leaves nothing on the connection.
 */
export const UNFLUSHED = `(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL`;
