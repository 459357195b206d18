// The statements of every phase.
import { givenRows, type GivenColumns } from '../keys/given-rows.js';

/** What a phase is given of its attempt. The first one of a resumable operation stores what a worker needs to go on. */
const ATTEMPT = {
  id: 'bigint',
  owner: 'uuid',
  lease: 'float8',
  operation: 'text',
  input: 'text',
  name: 'text',
  attempt: 'int',
};

const INTENT: GivenColumns = {
  ...ATTEMPT,
  position: 'int',
  effect_key: 'uuid',
  in_doubt: 'text',
  key_valid_for: 'float8',
  request: 'text',
};

const ENDING: GivenColumns = { ...ATTEMPT, state: 'text', result: 'text' };

const WORK: GivenColumns = { ...ENDING, kind: 'text', position: 'int' };

/**
 * Touches the rows of keys by id, owner and status, and renews their leases: an
 * attempt that lost its key writes nothing.
 */
function fence(keys: string, given: string, alsoSet = ''): string {
  return `UPDATE ${keys} k
      SET locked_until = clock_timestamp() + p.lease * interval '1 millisecond',
          operation = coalesce(k.operation, p.operation), input = coalesce(k.input, p.input::json)${alsoSet}
      FROM ${given}
      WHERE k.id = p.id AND k.owner = p.owner AND k.status = 'in_progress'`;
}

/** Only a finished phase is a recovery point. */
const RECOVERY_POINT = `,
          recovery_point = CASE WHEN p.state = 'finished' THEN p.name ELSE k.recovery_point END`;

const UNFINISHED = `('intended', 'withdrawn', 'reconciled')`;

/** Ends one phase inside the transaction of its work. It may have an intent or none. */
export function finishSql(keys: string, phases: string): string {
  return `WITH fence AS (
      ${fence(keys, givenRows('one', WORK, 'p'), RECOVERY_POINT)}
      RETURNING k.id, p.name, p.position, p.kind, p.state, p.attempt, p.result
    )
    INSERT INTO ${phases} AS p (key_id, name, position, kind, state, attempt, result, finished_at)
    SELECT id, name, position, kind, state, attempt, result::json, clock_timestamp() FROM fence
    ON CONFLICT (key_id, name) DO UPDATE
      SET state = excluded.state, attempt = excluded.attempt,
          result = excluded.result, finished_at = excluded.finished_at
      WHERE p.state IN ${UNFINISHED}
    RETURNING key_id`;
}

/** Commits intents. */
export function intendSql(keys: string, phases: string): string {
  return `WITH ${intended(keys, phases)} ${INTENDED}`;
}

/** Ends phases that have an intent, and no work to commit with it. */
export function finishIntendedSql(keys: string, phases: string): string {
  return `WITH ${finished(keys, phases)} ${FINISHED}`;
}

/** Both, for different requests, in one statement, and so in one transaction. */
export function intendAndFinishSql(keys: string, phases: string): string {
  const after = Object.keys(INTENT).length;
  return `WITH ${intended(keys, phases)}, ${finished(keys, phases, after)}
    ${INTENDED} UNION ALL ${FINISHED}`;
}

const INTENDED = `SELECT f.owner, p.started_at AS "startedAt", false AS "ended"
    FROM intended p JOIN meant_fence f ON f.id = p.key_id`;

const FINISHED = `SELECT owner, NULL::timestamptz AS "startedAt", true AS "ended" FROM finished`;

function intended(keys: string, phases: string): string {
  return `meant_fence AS (
      ${fence(keys, givenRows('many', INTENT, 'p'))}
      RETURNING k.id, k.owner, p.name, p.position, p.attempt, p.effect_key, p.in_doubt, p.key_valid_for, p.request
    ), intended AS (
      INSERT INTO ${phases} AS p
        (key_id, name, position, kind, state, attempt, effect_key, in_doubt, key_valid_until, request)
      SELECT id, name, position, 'foreign', 'intended', attempt, effect_key, in_doubt,
             clock_timestamp() + key_valid_for * interval '1 millisecond', request::json
      FROM meant_fence
      ON CONFLICT (key_id, name) DO UPDATE
        SET state = 'intended', attempt = excluded.attempt, in_doubt = excluded.in_doubt,
            started_at = CASE p.state WHEN 'withdrawn' THEN excluded.started_at ELSE p.started_at END,
            key_valid_until =
              CASE p.state WHEN 'withdrawn' THEN excluded.key_valid_until ELSE p.key_valid_until END,
            finished_at = NULL
        WHERE p.state IN ('intended', 'withdrawn')
      RETURNING key_id, started_at
    )`;
}

function finished(keys: string, phases: string, after = 0): string {
  return `ended_fence AS (
      ${fence(keys, givenRows('many', ENDING, 'p', after), RECOVERY_POINT)}
      RETURNING k.id, k.owner, p.name, p.attempt, p.state, p.result
    ), finished AS (
      UPDATE ${phases} p
      SET state = f.state, attempt = f.attempt, result = f.result::json, finished_at = clock_timestamp()
      FROM ended_fence f
      WHERE p.key_id = f.id AND p.name = f.name AND p.state IN ${UNFINISHED}
      RETURNING f.owner
    )`;
}
