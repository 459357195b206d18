// The statement of every phase.
import { givenRows, type GivenColumns, type Rows } from '../postgres/parameter-rows.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { milliseconds } from '../postgres/times.js';

/** What an entry is given, in the order of the parameters. */
const ENTRY: GivenColumns = {
  id: 'bigint',
  owner: 'uuid',
  lease: 'float8',
  operation: 'text',
  input: 'text',
  max_run_time: 'float8',
  name: 'text',
  position: 'int',
  kind: 'text',
  state: 'text',
  attempt: 'int',
  effect_key: 'uuid',
  in_doubt: 'text',
  key_valid_for: 'float8',
  request: 'text',
  result: 'text',
};

/**
 * Records entries of phases: the intent of a foreign call, or how a phase ended.
 *
 * The fence comes first. It touches the rows of the keys by id, owner and status,
 * and renews their leases: an attempt that lost its key writes nothing. The first
 * entry of a resumable operation stores what a worker needs to go on, and only a
 * finished phase is a recovery point.
 *
 * An earlier intent keeps its effect key and its request, and, unless it is
 * certain that nothing came of it, the time until which the other system
 * remembers the key. Every intent has a start of its own, because a call follows
 * it: whoever asks about that call later must not take it for an older one. What
 * has ended for good stays as it is.
 *
 * @param inTransaction of the user's: its waits for locks are not ours to bound
 */
export function recordSql(keys: string, phases: string, rows: Rows, inTransaction = false): string {
  const begunAnew = `p.state = 'withdrawn' AND excluded.state = 'intended'`;
  return `WITH fence AS (
      UPDATE ${keys} k
      SET locked_until = clock_timestamp() + e.lease * interval '1 millisecond',
          operation = coalesce(k.operation, e.operation), input = coalesce(k.input, e.input::json),
          lease_ms = CASE WHEN e.operation IS NOT NULL THEN e.lease ELSE k.lease_ms END,
          max_run_time_ms = CASE WHEN e.operation IS NOT NULL THEN e.max_run_time ELSE k.max_run_time_ms END,
          recovery_point = CASE WHEN e.state = 'finished' THEN e.name ELSE k.recovery_point END
      FROM ${givenRows(rows, ENTRY, 'e')}
      WHERE ${inTransaction ? '' : `${BOUNDED_LOCK_WAIT} AND `}k.id = e.id AND k.owner = e.owner
        AND k.status = 'in_progress'
      RETURNING e.*
    )
    INSERT INTO ${phases} AS p
      (key_id, name, position, kind, state, attempt,
       effect_key, in_doubt, key_valid_until, request, result, finished_at)
    SELECT id, name, position, kind, state, attempt, effect_key, in_doubt,
           clock_timestamp() + key_valid_for * interval '1 millisecond', request::json, result::json,
           CASE WHEN state <> 'intended' THEN clock_timestamp() END
    FROM fence
    ON CONFLICT (key_id, name) DO UPDATE
      SET state = excluded.state, attempt = excluded.attempt,
          in_doubt = coalesce(excluded.in_doubt, p.in_doubt),
          started_at = CASE WHEN excluded.state = 'intended' THEN excluded.started_at ELSE p.started_at END,
          key_valid_until =
            CASE WHEN ${begunAnew} THEN excluded.key_valid_until ELSE p.key_valid_until END,
          result = excluded.result, finished_at = excluded.finished_at
      WHERE p.state IN ('intended', 'withdrawn')
        OR (p.state = 'reconciled' AND excluded.state <> 'intended')
    RETURNING key_id AS "keyId", attempt,
      CASE WHEN state = 'intended' THEN ${milliseconds('started_at')} END AS "startedAt"`;
}
