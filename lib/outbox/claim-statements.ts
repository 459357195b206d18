// How the worker finds and claims the messages that are due.
import { MESSAGE, sameMessage } from './message-statements.js';

const DUE = `m.dead_at IS NULL AND m.available_at <= now()
             AND ($1::text[] IS NULL OR m.topic = ANY ($1))`;

/**
 * Claims what is due, oldest first. Rows that another worker is claiming are
 * skipped, not waited for. Of one ordering key only the first message that is
 * still to be delivered can be claimed.
 *
 * A join finds that first one, and not NOT EXISTS, so that PostgreSQL can
 * remember it: with ten thousand messages behind one that fails, each claim
 * looks it up once.
 */
export function claimSql(outbox: string): string {
  const due = `SELECT m.scope, m.id
         FROM ${outbox} m
         LEFT JOIN LATERAL (
           SELECT f.position
           FROM ${outbox} f
           WHERE f.ordering_key = m.ordering_key AND f.dead_at IS NULL
           ORDER BY f.position
           LIMIT 1
         ) first_of_key ON true
         WHERE ${DUE} AND (first_of_key.position < m.position) IS NOT TRUE`;
  return claimOf(outbox, due, 'true');
}

/**
 * Finds what is due on all nodes. The messages of an ordering key may be of
 * several scopes, and so on several nodes: their first one is found before.
 */
export function findDueSql(outbox: string): string {
  return `SELECT m.scope, m.id
    FROM ${outbox} m
    LEFT JOIN (
      SELECT f.ordering_key, min(f.position) AS position
      FROM ${outbox} f
      WHERE f.ordering_key IS NOT NULL AND f.dead_at IS NULL
      GROUP BY f.ordering_key
    ) first_of_key ON first_of_key.ordering_key = m.ordering_key
    WHERE ${DUE} AND (first_of_key.position < m.position) IS NOT TRUE
    ORDER BY m.available_at, m.position
    LIMIT $2`;
}

/**
 * Claims those of one scope that were found. The first message of an ordering key
 * stays the first until it is delivered or dead: later ones get later positions,
 * and become visible in that order.
 */
export function claimFoundSql(outbox: string): string {
  const due = `SELECT m.scope, m.id
         FROM ${outbox} m
         WHERE ${DUE} AND m.scope = $5 AND m.id = ANY ($6::uuid[])`;
  return claimOf(outbox, due, 'm.scope = $5');
}

function claimOf(outbox: string, due: string, where: string): string {
  return `WITH due AS (
      ${due}
      ORDER BY m.available_at, m.position
      LIMIT $4
      FOR UPDATE OF m SKIP LOCKED
    )
    UPDATE ${outbox} m
    SET lease_token = $2, attempts = m.attempts + 1,
        available_at = now() + $3::float8 * interval '1 millisecond'
    FROM due
    WHERE ${sameMessage('m', 'due')} AND ${where}
    RETURNING ${MESSAGE}`;
}
