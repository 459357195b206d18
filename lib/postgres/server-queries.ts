import type { ClientBase, QueryResult } from 'pg';

/** What a server says about itself. */
export interface ServerState {
  /** A standby, or a server that is set to accept no writes. */
  readOnly: boolean;
  /** Which cluster it is: a primary and its standbys have the same identifier. */
  system: string;
  /** Counts the promotions of the cluster's servers; null on a standby, which only follows. */
  timeline: number | null;
}

/**
 * Every role may call these functions. The timeline is taken from the name of the
 * current log file: that of the last checkpoint would be the old one for minutes
 * after a promotion.
 */
const STATE = `SELECT current_setting('transaction_read_only') = 'on' AS "readOnly",
    (SELECT system_identifier::text FROM pg_control_system()) AS system,
    CASE WHEN NOT pg_is_in_recovery()
      THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
    END AS timeline`;

export async function serverState(client: ClientBase): Promise<ServerState> {
  const { rows } = await client.query<ServerState>(STATE);
  return rows[0]!;
}

/**
 * Calls back before the driver sends the next statement of this connection; with
 * nothing if the server does not tell.
 */
export function askServerState(client: ClientBase, tell: (state?: ServerState) => void): void {
  // Without an error there is a result, whatever the types say.
  const told = (error: Error | null, result?: QueryResult<ServerState>) =>
    tell(error ? undefined : result?.rows[0]);
  client.query(STATE, told);
}
