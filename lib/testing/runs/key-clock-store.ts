import type { Database } from '../../postgres/database.js';
import { isPhaseOf } from '../../schema/key-name.js';
import type { KeyStatus } from '../../schema/key-status.js';

/** What the kit wants to know of a key. */
export interface KeyState {
  id: string;
  status: KeyStatus;
  attempt: number;
  operation: string | null;
}

/** Looks at the key of a run and moves its clock, so that nobody has to wait. */
export class KeyClockStore {
  private readonly keys: string;
  private readonly phases: string;

  constructor(private readonly database: Database) {
    this.keys = database.table('idempotency_keys');
    this.phases = database.table('idempotency_phases');
  }

  /** @param id where it is known: a call of the request to the same application may use the key as well */
  async find(key: string, id: string | undefined): Promise<KeyState | undefined> {
    const [row] = await this.database.query<KeyState>(
      `SELECT id, status, attempt, operation FROM ${this.keys}
       WHERE key = $1 AND ($2::bigint IS NULL OR id = $2) ORDER BY id LIMIT 1`,
      [key, id ?? null],
    );
    return row;
  }

  /** Its attempt is dead: nobody waits for its lease, or for the pause before a worker tries again. */
  async lapse(id: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.keys}
       SET locked_until = CASE WHEN status = 'in_progress' THEN now() ELSE locked_until END,
           resume_after = least(resume_after, now())
       WHERE id = $1`,
      [id],
    );
  }

  /** Nobody goes on with it. */
  async retire(id: string): Promise<void> {
    await this.database.query(
      `UPDATE ${this.keys}
       SET status = 'unknown', resume_after = NULL, reconcile_after = NULL
       WHERE id = $1 AND status NOT IN ('completed', 'expired')`,
      [id],
    );
  }

  /** All that happened to the key happened this much earlier. */
  async age(id: string, hours: number): Promise<void> {
    const earlier = (column: string) => `${column} = ${column} - $2::float8 * interval '1 hour'`;
    await this.database.query(
      `WITH aged AS (
         UPDATE ${this.keys}
         SET ${['created_at', 'last_run_at', 'locked_until', 'resume_after', 'reconcile_after'].map(earlier).join(', ')}
         WHERE id = $1
         RETURNING scope, id
       )
       UPDATE ${this.phases} p
       SET ${['started_at', 'finished_at', 'key_valid_until'].map((column) => `${column} = p.${column} - $2::float8 * interval '1 hour'`).join(', ')}
       FROM aged
       WHERE ${isPhaseOf('aged')}`,
      [id, hours],
    );
  }
}
