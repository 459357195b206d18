// The statements that every request needs, for one key or for many at once.
import { BatchColumns, type Shared } from '../postgres/batch-statement.js';
import { BOUNDED_LOCK_WAIT } from '../postgres/lock-wait.js';
import { GivenRows, type Rows } from '../postgres/parameter-rows.js';
import { endPhaseSql } from './last-phase.js';
import { exactTime, milliseconds, nowIf } from '../postgres/times.js';
import { UNFLUSHED } from '../postgres/unflushed.js';
import { isKey, NAME } from '../schema/key-name.js';

/** How far a client's clock may be behind the database's before its new keys look old. */
const CLOCK_SKEW = '5 seconds';

/** In SQL: a new key is stale if it was created so long ago that it may have been used and forgotten. */
function stale(madeAt: string, retention: string): string {
  return `coalesce(to_timestamp((${madeAt} + ${retention}) / 1000) < now() - interval '${CLOCK_SKEW}', false)`;
}

/**
 * The parameters of a reservation, in their order, with their types. The last one
 * is for a reservation that may be refused as stale: when its key was created.
 */
const RESERVATION = {
  scope: 'text',
  endpoint: 'text',
  key: 'text',
  fingerprint: 'bytea',
  owner: 'uuid',
  lease: 'float8',
  retention: 'float8',
  on_abandoned: 'text',
  on_expired: 'text',
  method: 'text',
  route: 'text',
  path: 'text',
  request: 'text',
  traceparent: 'text',
  made_at: 'float8',
};

/** Most requests of a moment have the same policy, and many the same route. */
export const RESERVATIONS = new BatchColumns(
  RESERVATION,
  ['lease', 'retention', 'on_abandoned', 'on_expired'],
  ['endpoint', 'method', 'route', 'path', 'request', 'traceparent', 'made_at'],
);

/** And those of an outcome. */
const OUTCOME = {
  id: 'bigint',
  owner: 'uuid',
  status: 'text',
  response_status: 'int',
  response_headers: 'text',
  response_body: 'bytea',
  response_version: 'int',
  error_code: 'text',
  retention: 'float8',
  resume_in: 'float8',
};

/** And those of an outcome with that of the attempt's last phase. */
const OUTCOME_AND_PHASE = { ...OUTCOME, phase: 'text', phase_result: 'text' };

/** Most requests of a moment succeed, and many with the same headers. */
const ALIKE = [
  ['status', 'response_version', 'error_code', 'retention', 'resume_in'],
  ['response_status', 'response_headers'],
];

export const OUTCOMES = new BatchColumns(OUTCOME, ...ALIKE);
export const OUTCOMES_AND_PHASES = new BatchColumns(OUTCOME_AND_PHASE, ...ALIKE);

interface ReserveForm {
  distributed?: boolean;
  shared?: Shared | undefined;
  mayBeLost?: boolean;
}

interface FinishForm {
  after?: number;
  shared?: Shared | undefined;
  phases?: string | undefined;
}

/**
 * Reserves the keys that are free. The insert is the lock: there is no prior read
 * that could be stale. Rows are inserted in the order in which they are given.
 *
 * The statement for one row cannot refuse a stale key: use `many` for that.
 *
 * @param distributed the tables are distributed over several nodes. A plain VALUES goes straight to
 *   the node of its scope, and that node waits for no other
 * @param shared what many rows have in common
 * @param mayBeLost a crash of the server may lose the reservations
 */
export function reserveSql(
  keys: string,
  rows: Rows,
  { distributed = false, shared, mayBeLost = false }: ReserveForm = {},
): string {
  const w = new GivenRows(rows, RESERVATION, 'w', 0, shared);
  const values = [
    w.of('scope'),
    w.of('endpoint'),
    w.of('key'),
    w.of('fingerprint'),
    w.of('owner'),
    w.computed(`now() + ${w.of('lease')} * interval '1 millisecond'`, 'lease'),
    w.computed(`now() + ${w.of('retention')} * interval '1 millisecond'`, 'retention'),
    w.of('on_abandoned'),
    w.of('on_expired'),
    w.of('method'),
    w.of('route'),
    w.of('path'),
    w.asJson('request', 'json'),
    w.of('traceparent'),
  ].join();
  const bounded = mayBeLost ? `${BOUNDED_LOCK_WAIT} AND ${UNFLUSHED}` : BOUNDED_LOCK_WAIT;
  const source = {
    one: distributed ? `VALUES (${values})` : `SELECT ${values} WHERE ${bounded}`,
    many: `SELECT ${values} FROM ${w.tables.join()}
           WHERE ${bounded} AND NOT ${w.computed(stale(w.of('made_at'), w.of('retention')), 'made_at', 'retention')}`,
  };
  return `INSERT INTO ${keys}
      (${NAME}, fingerprint, owner, locked_until, expires_at, on_abandoned, on_expired,
       method, route, path, request, traceparent)
    ${source[rows]}
    ON CONFLICT (${NAME}) DO NOTHING
    RETURNING id, owner`;
}

/** What a request needs to know about an existing key. */
const FOUND = `k.id, k.fingerprint, k.status, k.owner, k.attempt,
  k.recovery_point AS "recoveryPoint",
  ${exactTime('k.locked_until')} AS "lockedUntil",
  k.locked_until <= now() AS "lapsed",
  ${milliseconds('CASE WHEN k.held_at IS NULL OR k.expires_at > now() THEN k.expires_at END')} AS "expiresAt",
  CASE WHEN k.held_at IS NULL THEN (extract(epoch FROM k.expires_at - now()) * 1000)::float8 END AS "expiresIn",
  (extract(epoch FROM now() - k.last_run_at) * 1000)::float8 AS "runningFor",
  (extract(epoch FROM nullif(k.reconcile_after, 'infinity') - now()) * 1000)::float8 AS "reconcileIn",
  (extract(epoch FROM k.resume_after - now()) * 1000)::float8 AS "resumeIn",
  k.resume_attempts AS "resumeAttempts",
  k.operation,
  k.traceparent,
  k.response_version AS "responseVersion",
  k.response_status AS "responseStatus",
  k.response_headers AS "responseHeaders",
  k.response_body AS "responseBody"`;

/** Reads a key that was not free. No row: it was removed meanwhile. */
export function lookUpOneSql(keys: string): string {
  return `SELECT ${FOUND} FROM ${keys} k WHERE ${isKey('k')}`;
}

/** Reads keys that were not free. A missing one was removed meanwhile, or was refused as stale. */
export function lookUpSql(keys: string): string {
  return `SELECT ${stale('w.made_at', 'w.retention')} AS "stale", ${FOUND}
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::float8[])
      WITH ORDINALITY AS w (scope, endpoint, key, retention, made_at, position)
    LEFT JOIN LATERAL (
      SELECT *
      FROM ${keys} k
      WHERE k.scope = w.scope AND k.endpoint = w.endpoint AND k.key = w.key
      LIMIT 1 -- keeps the look-up on the primary key, whatever the statistics say
    ) k ON true
    ORDER BY w.position`;
}

/**
 * Records the outcomes of attempts. A first attempt keeps the expiry of its
 * reservation, so that the update stays heap-only. A resumed one gets a full
 * retention again, and so does one that ran for more than a tenth of it: its
 * answer could expire before it is sent. So does one whose answer has another
 * retention than the reservation.
 *
 * @param after how many parameters precede those of the outcomes
 * @param shared what many rows have in common
 * @param phases with the outcomes of the attempts' last phases, in this table
 */
export function finishSql(keys: string, rows: Rows, form: FinishForm = {}): string {
  const finish = updateSql(keys, rows, form);
  return form.phases ? `WITH ${finish} SELECT owner, "expiresAt" FROM finished` : finish;
}

/** With phases, the two statements of a WITH clause, the first of them named `finished`. */
function updateSql(keys: string, rows: Rows, { after = 0, shared, phases }: FinishForm): string {
  const parameters = (phases ? OUTCOME_AND_PHASE : OUTCOME) as typeof OUTCOME_AND_PHASE;
  const e = new GivenRows(rows, parameters, 'e', after, shared);
  // Of one outcome, the scope as well, behind the others: a distributed table finds the node by it.
  const ofScope = `AND k.scope = $${Object.keys(parameters).length + 1}::text`;
  const status = e.of('status');
  const retention = (share: number) =>
    e.computed(`now() + ${share} * ${e.of('retention')} * interval '1 millisecond'`, 'retention');
  // Separate, because distributed tables allow no time arithmetic inside a CASE.
  const times = `LATERAL (SELECT now(), ${retention(0.9)}, ${retention(1)}) AS t (now, nine_tenths, whole)`;
  const reached = phases ? `coalesce(${e.of('phase')}, k.recovery_point)` : 'k.recovery_point';
  const finish = `UPDATE ${keys} k
    SET status = ${status},
        recovery_point = CASE WHEN ${status} = 'completed' THEN 'finished' ELSE ${reached} END,
        response_status = ${e.of('response_status')},
        response_headers = ${e.asJson('response_headers', 'jsonb')},
        response_body = ${e.of('response_body')},
        response_version = ${e.of('response_version')},
        last_error_code = ${e.of('error_code')},
        reconcile_after = ${nowIf(`${status} = 'unknown'`)},
        resume_after = now() + CASE
          WHEN ${status} = 'failed_retryable' AND k.operation IS NOT NULL
          THEN ${e.of('resume_in')} * interval '1 millisecond'
        END,
        -- Of a performed operation: it was complete before this attempt began.
        completed_at = CASE
          WHEN ${status} = 'completed' THEN t.now
          WHEN ${status} = 'performed' THEN k.completed_at
        END,
        expires_at = CASE
          WHEN ${status} = 'completed'
            AND (k.attempt > 1 OR (k.expires_at BETWEEN t.nine_tenths AND t.whole) IS NOT TRUE)
          THEN t.whole
          ELSE k.expires_at
        END
    FROM ${[...e.tables, times].join()}
    WHERE ${BOUNDED_LOCK_WAIT}
      AND k.id = ${e.of('id')} ${rows === 'one' ? ofScope : ''}
      AND k.owner = ${e.of('owner')} AND k.status = 'in_progress'
    RETURNING k.owner, ${milliseconds('k.expires_at')} AS "expiresAt"`;
  if (!phases) return finish;
  const ended = endPhaseSql(phases, {
    fence: 'finished',
    attempt: 'finished.attempt',
    name: 'finished.phase',
    result: 'finished.phase_result::json',
  });
  return `finished AS (
      ${finish}, k.scope, k.id, k.attempt, ${e.of('phase')} AS phase, ${e.of('phase_result')} AS phase_result
    ), ended AS (${ended})`;
}

/** Reservations and outcomes of different requests in one statement, and so in one transaction. */
export function reserveAndFinishSql(
  keys: string,
  wanted?: Shared,
  outcomes?: Shared,
  phases?: string,
): string {
  const after = Object.keys(RESERVATION).length;
  const reserve = reserveSql(keys, 'many', { shared: wanted });
  const finish = updateSql(keys, 'many', { after, shared: outcomes, phases });
  return `WITH reserved AS (${reserve}), ${phases ? finish : `finished AS (${finish})`}
    SELECT owner, id, NULL::float8 AS "expiresAt" FROM reserved
    UNION ALL
    SELECT owner, NULL, "expiresAt" FROM finished`;
}

/** The parameters of an outcome that may have been recorded. */
const RECORDED = {
  scope: 'text',
  id: 'bigint',
  owner: 'uuid',
  status: 'text',
  response_status: 'int',
  response_body: 'bytea',
};

/**
 * Which of these outcomes an earlier try, whose reply was lost, has already recorded.
 *
 * It writes the row once more, unchanged, because only the commit of a write waits
 * for a synchronous standby. A wait that was cancelled or lost has left the row
 * visible on the primary, and a failover would lose it.
 */
export function recordedSql(keys: string, rows: Rows): string {
  const e = new GivenRows(rows, RECORDED, 'e');
  return `UPDATE ${keys} k SET status = k.status
    ${e.tables.map((table) => `FROM ${table}`).join()}
    WHERE ${BOUNDED_LOCK_WAIT}
      AND k.scope = ${e.of('scope')} AND k.id = ${e.of('id')}
      AND k.owner = ${e.of('owner')} AND k.status = ${e.of('status')}
      -- An operator may have given another answer for an attempt that stood still.
      AND k.response_status IS NOT DISTINCT FROM ${e.of('response_status')}
      AND k.response_body IS NOT DISTINCT FROM ${e.of('response_body')}
    RETURNING k.owner, ${milliseconds('k.expires_at')} AS "expiresAt"`;
}

/** Whether a new key would be refused as stale. It reads no table. */
export const IS_STALE = `SELECT ${stale('$1::float8', '$2::float8')} AS stale`;
