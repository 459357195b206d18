import { BRIEF } from '../clients/errand.js';
import { TIMES } from '../times.js';
import type { Database } from './database.js';

/** A key that is gone, and how. */
export interface Removal {
  key: string;
  status: string;
  /** Something was recorded of it. */
  begun: boolean;
  /** It is finished for so many milliseconds. */
  age: number;
  /** Its retention was over. */
  expired: boolean;
  /** A DELETE of somebody who does not know of the phases, which are left behind. */
  byHand: boolean;
}

/** Every removal of a key is noted by the database itself, in the same transaction. */
export const REMOVALS = `
  CREATE TABLE removals (
    key text NOT NULL, status text NOT NULL, begun boolean NOT NULL,
    age float8, expired boolean NOT NULL, by_hand boolean NOT NULL
  );
  CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO removals VALUES (
      OLD.key, OLD.status,
      OLD.attempt > 1 OR EXISTS (
        SELECT FROM idempotency_phases p WHERE p.scope = OLD.scope AND p.key_id = OLD.id
      ),
      extract(epoch FROM now() - OLD.completed_at) * 1000, OLD.expires_at <= now(),
      current_setting('application_name') = ''
    );
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_removal AFTER DELETE ON idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION note_removal()`;

export function removals(database: Database): Promise<Removal[]> {
  return database.query(
    'SELECT key, status, begun, age, expired, by_hand AS "byHand" FROM removals',
  );
}

/** Nobody asks for these keys any more. Those that are finished for so long are removed. */
export async function removeByHand(
  database: Database,
  keys: readonly string[],
  age: number,
): Promise<void> {
  await database.query(
    `DELETE FROM idempotency_keys WHERE key = ANY ($1) AND status = 'completed'
       AND completed_at <= now() - $2 * interval '1 millisecond'`,
    [keys, age],
  );
}

/** Brief keys that are finished grow old by the time of their retention. */
export async function passRetention(database: Database): Promise<void> {
  await database.query(
    `UPDATE idempotency_keys SET completed_at = completed_at - $1 * interval '1 millisecond',
       expires_at = expires_at - $1 * interval '1 millisecond'
     WHERE key LIKE $2 AND status = 'completed'`,
    [TIMES.retention, `${BRIEF}%`],
  );
}

/** Brief keys that are not finished. */
export async function openBriefKeys(database: Database): Promise<Set<string>> {
  const rows = await database.query<{ key: string }>(
    `SELECT key FROM idempotency_keys WHERE key LIKE $1 AND status <> 'completed'`,
    [`${BRIEF}%`],
  );
  return new Set(rows.map(({ key }) => key));
}

/** Brief keys that are still there, and phases without a key. */
export async function leftOvers(database: Database): Promise<{ keys: number; phases: number }> {
  const [left] = await database.query<{ keys: number; phases: number }>(
    `SELECT (SELECT count(*)::int FROM idempotency_keys WHERE key LIKE $1) AS keys,
            (SELECT count(*)::int FROM idempotency_phases p
             WHERE NOT EXISTS (SELECT FROM idempotency_keys k WHERE k.scope = p.scope AND k.id = p.key_id)
            ) AS phases`,
    [`${BRIEF}%`],
  );
  return left!;
}
