// The statements of every phase, for many at once, each of another key.

/**
 * Touches the rows of the keys by id, owner and status, and renews their leases:
 * an attempt that lost its key writes nothing. The first phase of a resumable
 * operation stores what a worker needs to go on.
 */
const FENCED = `k.id = p.id AND k.owner = p.owner AND k.status = 'in_progress'`;
const RENEWED = `locked_until = clock_timestamp() + p.lease * interval '1 millisecond',
        operation = coalesce(k.operation, p.operation), input = coalesce(k.input, p.input::json)`;

export function intendSql(keys: string, phases: string): string {
  return `WITH meant AS (
      SELECT *
      FROM unnest($1::bigint[], $2::uuid[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[],
                  $9::uuid[], $10::text[], $11::float8[], $12::text[])
        AS m (id, owner, lease, operation, input, name, position, attempt,
              effect_key, in_doubt, key_valid_for, request)
    ), fence AS (
      UPDATE ${keys} k SET ${RENEWED} FROM meant p WHERE ${FENCED} RETURNING k.id, k.owner
    ), intended AS (
      INSERT INTO ${phases} AS p
        (key_id, name, position, kind, state, attempt, effect_key, in_doubt, key_valid_until, request)
      SELECT id, name, position, 'foreign', 'intended', attempt, effect_key, in_doubt,
             clock_timestamp() + key_valid_for * interval '1 millisecond', request::json
      FROM meant JOIN fence USING (id, owner)
      ON CONFLICT (key_id, name) DO UPDATE
        SET state = 'intended', attempt = excluded.attempt, in_doubt = excluded.in_doubt,
            started_at = CASE p.state WHEN 'withdrawn' THEN excluded.started_at ELSE p.started_at END,
            key_valid_until =
              CASE p.state WHEN 'withdrawn' THEN excluded.key_valid_until ELSE p.key_valid_until END,
            finished_at = NULL
        WHERE p.state IN ('intended', 'withdrawn')
      RETURNING key_id, started_at
    )
    SELECT fence.owner, intended.started_at AS "startedAt"
    FROM intended JOIN fence ON fence.id = intended.key_id`;
}

/** Only a finished phase is a recovery point. */
export function finishSql(keys: string, phases: string): string {
  return `WITH ended AS (
      SELECT *
      FROM unnest($1::bigint[], $2::uuid[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::int[], $8::int[],
                  $9::text[], $10::text[], $11::text[])
        AS e (id, owner, lease, operation, input, name, position, attempt, kind, state, result)
    ), fence AS (
      UPDATE ${keys} k
      SET ${RENEWED},
          recovery_point = CASE WHEN p.state = 'finished' THEN p.name ELSE k.recovery_point END
      FROM ended p WHERE ${FENCED} RETURNING k.id, k.owner
    ), finished AS (
      INSERT INTO ${phases} AS p (key_id, name, position, kind, state, attempt, result, finished_at)
      SELECT id, name, position, kind, state, attempt, result::json, clock_timestamp()
      FROM ended JOIN fence USING (id, owner)
      ON CONFLICT (key_id, name) DO UPDATE
        SET state = excluded.state, attempt = excluded.attempt,
            result = excluded.result, finished_at = excluded.finished_at
        WHERE p.state IN ('intended', 'withdrawn', 'reconciled')
      RETURNING key_id
    )
    SELECT fence.owner FROM finished JOIN fence ON fence.id = finished.key_id`;
}
