import { milliseconds } from '../postgres/times.js';
import { isPhaseOf } from './key-name.js';

/** In SQL: what is read of such a call, from its phase `p`. */
export const DOUBT = `p.name AS phase, p.effect_key AS "effectKey", p.request::text AS request,
                 ${milliseconds('p.started_at')} AS "startedAt",
                 ${milliseconds('p.key_valid_until')} AS "keyValidUntil"`;

/**
 * The foreign call of key `k` that was begun and has no outcome, as a subquery.
 * There is one at most: once a phase is in doubt, no further one starts.
 *
 * @param where what else holds for the phase `p`
 * @param columns what is read of the phase `p`
 */
export function phaseInDoubt(phases: string, where = 'true', columns = DOUBT): string {
  return `SELECT ${columns}
          FROM ${phases} p
          WHERE ${isPhaseOf('k')} AND p.state = 'intended' AND ${where}
          ORDER BY p.position
          LIMIT 1`;
}
