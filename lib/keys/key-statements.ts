// The statements that every request needs, for many keys at once.
import { givenRows, type GivenColumns, type Rows } from '../postgres/parameter-rows.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { milliseconds } from '../postgres/times.js';

/** The version of the stored answer's format, in `response_version`. */
export const RESPONSE_VERSION = 1;

/** How far a client's clock may be behind the database's before its new keys look old. */
const CLOCK_SKEW = '5 seconds';

/** Of a key that is not on record: it was made so long ago that it may have been. */
const STALE = `coalesce(to_timestamp((made_at + retention) / 1000) < now() - interval '${CLOCK_SKEW}', false)`;

/** The parameters of a reservation, in their order, with their types. */
const RESERVATION: GivenColumns = {
  scope: 'text',
  endpoint: 'text',
  key: 'text',
  fingerprint: 'bytea',
  owner: 'uuid',
  lease: 'float8',
  retention: 'float8',
  on_abandoned: 'text',
  on_expired: 'text',
  made_at: 'float8',
  method: 'text',
  route: 'text',
  path: 'text',
  request: 'text',
};

/** And those of an ending. */
const ENDING: GivenColumns = {
  id: 'bigint',
  owner: 'uuid',
  status: 'text',
  response_status: 'int',
  response_headers: 'text',
  response_body: 'bytea',
  error_code: 'text',
  retention: 'float8',
  resume_in: 'float8',
};

/**
 * Takes the keys that are free. The insert is the lock: there is no check before
 * it that could be outdated. Rows are inserted in key order, so that two
 * processes cannot block each other.
 */
export function reserveSql(keys: string, rows: Rows): string {
  return `INSERT INTO ${keys}
      (scope, endpoint, key, fingerprint, owner, locked_until, expires_at, on_abandoned, on_expired,
       method, route, path, request)
    SELECT scope, endpoint, key, fingerprint, owner,
           now() + lease * interval '1 millisecond', now() + retention * interval '1 millisecond',
           on_abandoned, on_expired, method, route, path, request::json
    FROM ${givenRows(rows, RESERVATION, 'w')}
    WHERE ${BOUNDED_LOCK_WAIT} AND NOT ${STALE}
    ORDER BY scope, endpoint, key
    ON CONFLICT (scope, endpoint, key) DO NOTHING
    RETURNING id, owner`;
}

/** Reads the keys that were not free. One that is not there has gone meanwhile, or was refused as stale. */
export function lookUpSql(keys: string): string {
  return `SELECT ${STALE} AS "stale",
           k.id, k.fingerprint, k.status, k.owner, k.attempt,
           k.recovery_point AS "recoveryPoint",
           extract(epoch FROM k.locked_until)::text AS "lockedUntil",
           k.locked_until <= now() AS "lapsed",
           ${milliseconds('k.expires_at')} AS "expiresAt",
           (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "expiresIn",
           (extract(epoch FROM now() - k.last_run_at) * 1000)::float8 AS "runningFor",
           (extract(epoch FROM k.reconcile_after - now()) * 1000)::float8 AS "reconcileIn",
           (extract(epoch FROM k.resume_after - now()) * 1000)::float8 AS "resumeIn",
           k.resume_attempts AS "resumeAttempts",
           k.operation,
           k.response_version AS "responseVersion",
           k.response_status AS "responseStatus",
           k.response_headers AS "responseHeaders",
           k.response_body AS "responseBody"
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[])
      WITH ORDINALITY AS w (scope, endpoint, key, retention, made_at, position)
    LEFT JOIN LATERAL (
      SELECT *
      FROM ${keys} k
      WHERE k.scope = w.scope AND k.endpoint = w.endpoint AND k.key = w.key
      LIMIT 1 -- keeps the look-up on the unique index, whatever the statistics say
    ) k ON true
    ORDER BY w.position`;
}

/**
 * Records how attempts ended. A first attempt keeps the expiry of its
 * reservation, so that the update stays heap-only. A resumed one gets a full
 * window anew, and so does one that ran for more than a tenth of it: its answer
 * could be forgotten before it is sent.
 */
export function finishSql(keys: string, rows: Rows, after = 0): string {
  return `UPDATE ${keys} k
    SET status = e.status,
        recovery_point = CASE WHEN e.status = 'completed' THEN 'finished' ELSE k.recovery_point END,
        response_status = e.response_status,
        response_headers = e.response_headers::jsonb,
        response_body = e.response_body,
        response_version = CASE WHEN e.status = 'completed' THEN ${RESPONSE_VERSION} END,
        last_error_code = e.error_code,
        reconcile_after = CASE WHEN e.status = 'unknown' THEN now() END,
        resume_after = CASE
          WHEN e.status = 'failed_retryable' AND k.operation IS NOT NULL
          THEN now() + e.resume_in * interval '1 millisecond'
        END,
        -- Of a performed operation: it was complete before this attempt began.
        completed_at = CASE e.status WHEN 'completed' THEN now() WHEN 'performed' THEN k.completed_at END,
        expires_at = CASE
          WHEN e.status = 'completed'
            AND (k.attempt > 1 OR k.expires_at < now() + 0.9 * e.retention * interval '1 millisecond')
          THEN now() + e.retention * interval '1 millisecond'
          ELSE k.expires_at
        END
    FROM ${givenRows(rows, ENDING, 'e', after)}
    WHERE ${BOUNDED_LOCK_WAIT} AND k.id = e.id AND k.owner = e.owner AND k.status = 'in_progress'
    RETURNING k.owner, ${milliseconds('k.expires_at')} AS "expiresAt"`;
}

/** Reservations and endings of different requests in one statement, and so in one transaction. */
export function reserveAndFinishSql(keys: string): string {
  const after = Object.keys(RESERVATION).length;
  return `WITH reserved AS (${reserveSql(keys, 'many')}), finished AS (${finishSql(keys, 'many', after)})
    SELECT owner, id, NULL::float8 AS "expiresAt" FROM reserved
    UNION ALL
    SELECT owner, NULL, "expiresAt" FROM finished`;
}

/** Which of these endings are on record already, by an earlier try whose reply was lost. */
export function recordedSql(keys: string): string {
  return `SELECT k.owner, ${milliseconds('k.expires_at')} AS "expiresAt"
    FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::int[], $5::bytea[])
      AS e (id, owner, status, response_status, response_body)
    JOIN ${keys} k ON k.id = e.id AND k.owner = e.owner AND k.status = e.status
      -- An operator may have given another answer for an attempt that stood still.
      AND k.response_status IS NOT DISTINCT FROM e.response_status
      AND k.response_body IS NOT DISTINCT FROM e.response_body`;
}
