// The statement of every phase.
import { endPhaseSql } from '../keys/last-phase.js';
import { BatchColumns, type Shared } from '../postgres/batch-statement.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { GivenRows, type Rows } from '../postgres/parameter-rows.js';
import { oneRowOrError, rowsBehind } from '../postgres/one-row.js';
import { later, milliseconds } from '../postgres/times.js';

/** The position of an operation's outcome: after every phase. */
const LAST_POSITION = 2_147_483_647;

/** The parameters of an entry, in order. */
const ENTRY = {
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

/** And those of an entry that comes right after a finished phase: the name and result of that one. */
const ENTRY_AFTER = { ...ENTRY, ended: 'text', ended_result: 'text' };

/** Most attempts of a moment are first ones with the same policy, and few can be resumed by workers. */
const ALIKE = [
  ['lease', 'max_run_time', 'kind', 'attempt', 'key_valid_for'],
  ['operation', 'input'],
];

export const ENTRIES = new BatchColumns(ENTRY, ...ALIKE);
export const ENTRIES_AFTER = new BatchColumns(ENTRY_AFTER, ...ALIKE);

interface RecordForm {
  inTransaction?: boolean;
  distributed?: boolean;
  shared?: Shared | undefined;
  after?: boolean;
}

/**
 * Records entries of phases: the intent of a foreign call, or how a phase ended.
 *
 * The fence comes first. It updates the rows of the keys by id, owner and
 * status, and renews their leases: an attempt that lost its lease writes nothing.
 * The first entry of a resumable operation stores what a worker needs to
 * continue, and only a finished phase is a recovery point.
 *
 * An earlier intent keeps its effect key and its request, and, unless it is
 * certain that nothing came of it, the time until which the other system
 * remembers the key. Every intent has its own start, because a call follows it: a
 * reconciler must not mistake that call for an older one. A phase with a definite
 * outcome is not changed.
 *
 * @param inTransaction inside a transaction of the application, whose waits for locks the library
 *   must not limit. It fails if the lease is lost, because COMMIT is sent with it.
 * @param distributed of one row: it is given as VALUES, and the statement fails if the lease is
 *   lost. What is selected from the fence would pass through the coordinator, and the commit would
 *   need two phases
 * @param shared what many rows have in common
 * @param after an entry may come right after the end of the phase before it, which is recorded with
 *   it: the next intent of a handler that went on. That phase was intended by the same attempt
 */
export function recordSql(
  keys: string,
  phases: string,
  rows: Rows,
  { inTransaction = false, distributed = false, shared, after = false }: RecordForm = {},
): string {
  const parameters = (after ? ENTRY_AFTER : ENTRY) as typeof ENTRY_AFTER;
  const e = new GivenRows(rows, parameters, 'e', 0, shared);
  // The rows that passed the fence.
  const passed = new GivenRows(rows, parameters, 'fence', 0, shared);
  // Of one entry, the scope as well, behind the others: a distributed table finds the node by it.
  const scope = `$${Object.keys(parameters).length + 1}::text`;
  const begunAnew = `p.state = 'withdrawn' AND excluded.state = 'intended'`;
  const tables = e.tables.map((table) => `FROM ${table}`).join();
  // Not the start of the transaction, which belongs to the application and may be long.
  const time = 'statement_timestamp()';
  const fence = `fence AS (
      UPDATE ${keys} k
      SET locked_until = ${e.computed(`${time} + ${e.of('lease')} * interval '1 millisecond'`, 'lease')},
          operation = coalesce(k.operation, ${e.of('operation')}),
          input = coalesce(k.input, ${e.asJson('input', 'json')}),
          lease_ms = CASE WHEN ${e.of('operation')} IS NOT NULL THEN ${e.of('lease')} ELSE k.lease_ms END,
          max_run_time_ms =
            CASE WHEN ${e.of('operation')} IS NOT NULL THEN ${e.of('max_run_time')} ELSE k.max_run_time_ms END,
          recovery_point = CASE WHEN ${e.of('state')} = 'finished' THEN ${e.of('name')} ELSE ${after ? `coalesce(${e.of('ended')}, k.recovery_point)` : 'k.recovery_point'} END
      ${tables}
      WHERE ${inTransaction ? '' : `${BOUNDED_LOCK_WAIT} AND `}${rows === 'one' ? `k.scope = ${scope} AND ` : ''}k.id = ${e.of('id')}
        AND k.owner = ${e.of('owner')} AND k.status = 'in_progress'
      RETURNING ${rows === 'one' ? 'k.scope, k.id' : 'k.scope, e.*'}
    )`;
  const insert = `INSERT INTO ${phases} AS p
      (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt, key_valid_until,
       request, result, started_at, finished_at)
    ${distributed ? `VALUES (${scope}, ${e.of('id')},` : 'SELECT scope, id,'} ${passed.of('name')}, ${passed.of('position')}, ${passed.of('kind')},
           ${passed.of('state')}, ${passed.of('attempt')}, ${passed.of('effect_key')},
           ${passed.of('in_doubt')}, ${passed.computed(`${time} + ${passed.of('key_valid_for')} * interval '1 millisecond'`, 'key_valid_for')},
           ${passed.asJson('request', 'json')}, ${passed.asJson('result', 'json')}, ${time},
           ${time} + CASE WHEN ${passed.of('state')} <> 'intended' THEN interval '0' END
    ${distributed ? ')' : `FROM ${after ? AFTER[rows] : 'fence'}`}
    ON CONFLICT (scope, key_id, name) DO UPDATE
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
  if (after) {
    const ended = endPhaseSql(phases, {
      fence: 'fence',
      attempt: passed.of('attempt'),
      name: passed.of('ended'),
      result: passed.asJson('ended_result', 'json'),
      returning: rows === 'one' ? 'fence.scope, fence.id' : 'fence.*',
    });
    return `WITH ${fence}, ended AS (${ended}) ${insert}`;
  }
  if (!inTransaction && !distributed) return `WITH ${fence} ${insert}`;
  const end = {
    inTransaction: distributed ? oneRowOrError('entry', 'fence') : oneRowOrError('entry'),
    alone: rowsBehind('fence', 'entry'),
  };
  return `WITH ${fence}, entry AS (${insert}) ${inTransaction ? end.inTransaction : end.alone}`;
}

/** The rows of entries that passed the fence, and whose phase before them has ended. */
const AFTER = {
  one: 'ended AS fence',
  many: '(SELECT * FROM fence WHERE ended IS NULL UNION ALL SELECT * FROM ended) AS fence',
};

/** The parameters of the end of a local phase, in order. */
const LOCAL_END = {
  scope: 'text',
  id: 'bigint',
  owner: 'uuid',
  lease: 'float8',
  name: 'text',
  position: 'int',
  attempt: 'int',
  result: 'text',
};

/**
 * Records the end of a local phase inside the transaction of its work. The same
 * as `recordSql` for the attempt of a plain request: nothing is stored for
 * workers, and no earlier intent can be there. It is less work for PostgreSQL. It
 * fails if the lease is lost, or if the phase has ended before.
 *
 * Without a row of the fence it divides by zero, as `oneRowOrError()` does. Not by a null in a
 * column that allows none: that error would show the row, with the result of the phase.
 */
export function localEndSql(keys: string, phases: string): string {
  const e = new GivenRows('one', LOCAL_END, 'e');
  const time = 'statement_timestamp()';
  return `WITH fence AS (
      UPDATE ${keys} k
      SET locked_until = ${time} + ${e.of('lease')} * interval '1 millisecond', recovery_point = ${e.of('name')}
      WHERE k.scope = ${e.of('scope')} AND k.id = ${e.of('id')} AND k.owner = ${e.of('owner')} AND k.status = 'in_progress'
      RETURNING 1 AS one
    )
    INSERT INTO ${phases} (scope, key_id, name, position, kind, state, attempt, result, started_at, finished_at)
    VALUES (${e.of('scope')}, ${e.of('id')} / coalesce((SELECT one FROM fence), 0), ${e.of('name')}, ${e.of('position')}, 'local', 'finished', ${e.of('attempt')},
            ${e.asJson('result', 'json')}, ${time}, ${time})`;
}

/**
 * Records the end of an operation that was completed without its client, and the
 * outcome of a phase that could not be recorded before, if there is one.
 *
 * @param distributed as for `recordSql`
 */
export function performedSql(keys: string, phases: string, distributed: boolean): string {
  const written = `${LAST_POSITION}, 'operation', $4, $5, $6::json, statement_timestamp()`;
  const source = distributed
    ? `VALUES ($1, $2, $10, ${written}) ON CONFLICT DO NOTHING`
    : `SELECT scope, id, $10, ${written} FROM fence`;
  const ofFence = distributed ? 'key_id = $2' : 'key_id IN (SELECT id FROM fence)';
  return `WITH fence AS (
      UPDATE ${keys}
      SET status = 'performed', last_error_code = NULL, resume_after = NULL, completed_at = now(),
          expires_at = ${later('now()', 'expires_at - coalesce(completed_at, created_at)')}
      WHERE scope = $1 AND id = $2 AND owner = $3 AND status = 'in_progress'
      RETURNING scope, id
    ), ended AS (
      UPDATE ${phases}
      SET state = $8, result = $9::json, attempt = $5, finished_at = statement_timestamp()
      WHERE scope = $1 AND ${ofFence} AND name = $7 AND state = 'intended'
    ), outcome AS (
      INSERT INTO ${phases}
        (scope, key_id, name, position, kind, state, attempt, result, finished_at)
      ${source}
      RETURNING name
    )
    ${distributed ? oneRowOrError('outcome', 'fence') : 'SELECT FROM outcome'}`;
}
