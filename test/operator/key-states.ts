import { randomUUID } from 'node:crypto';
import type { PhaseState } from 'nestjs-atomic-idempotency';
import type { TestDatabase } from '../support/database.js';

interface StateOfKey {
  status: string;
  /** Assignments to further columns, in SQL. */
  columns?: Record<string, string>;
  /** The state of its foreign phase. */
  phase?: PhaseState;
}

/** Every state that a decision can find a key in. */
export const STATES = {
  pending: { status: 'pending', columns: { operation: `'rides.create'`, resume_after: 'now()' } },
  running: { status: 'in_progress', phase: 'intended' },
  lapsed: {
    status: 'in_progress',
    columns: { locked_until: `now() - interval '1 second'` },
    phase: 'intended',
  },
  completed: {
    status: 'completed',
    columns: {
      recovery_point: `'finished'`,
      response_status: '201',
      response_body: `'made'`,
      completed_at: 'now()',
    },
    phase: 'finished',
  },
  failed: { status: 'failed_retryable', phase: 'withdrawn' },
  'failed, with an operation': {
    status: 'failed_retryable',
    columns: { operation: `'rides.create'`, last_error_code: `'attempts_exhausted'` },
    phase: 'finished',
  },
  performed: {
    status: 'performed',
    columns: { operation: `'rides.create'`, completed_at: 'now()' },
    phase: 'finished',
  },
  'failed, in doubt': { status: 'failed_retryable', phase: 'intended' },
  'failed, reconciled': { status: 'failed_retryable', phase: 'reconciled' },
  'unknown, in doubt': {
    status: 'unknown',
    columns: { reconcile_after: `'infinity'` },
    phase: 'intended',
  },
  'unknown, no phase': {
    status: 'unknown',
    columns: { reconcile_after: `'infinity'`, last_error_code: `'abandoned'` },
  },
  'unknown, phase withdrawn': {
    status: 'unknown',
    columns: { reconcile_after: `'infinity'`, last_error_code: `'http_500'` },
    phase: 'withdrawn',
  },
  expired: { status: 'expired', columns: { completed_at: 'now()' } },
} satisfies Record<string, StateOfKey>;

export type StateName = keyof typeof STATES;

/** A key in a state, with the effect key of its foreign phase. */
export async function insertKey(
  database: TestDatabase,
  state: StateName,
  scope = '',
): Promise<{ id: string; key: string; effectKey: string }> {
  const { status, columns = {}, phase }: StateOfKey = STATES[state];
  const key = randomUUID();
  const effectKey = randomUUID();
  const all = {
    locked_until: `now() + interval '1 minute'`,
    expires_at: `now() + interval '1 day'`,
    ...columns,
  };
  const [row] = await database.query<{ id: string }>(
    `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, ${Object.keys(all).join(', ')})
     VALUES ($1, $2, '', $3, $4, ${Object.values(all).join(', ')})
     RETURNING id`,
    [scope, key, randomUUID(), status],
  );
  const { id } = row!;
  if (phase) {
    await database.query(
      `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt)
       VALUES ($1, $2, 'charge_created', 1, 'foreign', $3, 1, $4, 'stop')`,
      [scope, id, phase, effectKey],
    );
  }
  return { id, key, effectKey };
}

/** A key with its phases, as it is in the database; undefined where it is gone. */
export async function wholeKey(database: TestDatabase, id: string): Promise<unknown> {
  const [row] = await database.query(
    `SELECT k.*, (SELECT json_agg(p ORDER BY position) FROM idempotency_phases p
       WHERE p.scope = k.scope AND p.key_id = k.id) AS phases
     FROM idempotency_keys k WHERE id = $1`,
    [id],
  );
  return row;
}
