import { milliseconds } from '../postgres/times.js';
import { isPhaseOf } from './key-name.js';

/**
 * The foreign call of key `k` that was begun and has no outcome, as a subquery.
 * There is one at most: once a phase is in doubt, no further one starts.
 */
export function phaseInDoubt(phases: string): string {
  return `SELECT p.name AS phase, p.effect_key AS "effectKey", p.request::text AS request,
                 ${milliseconds('p.started_at')} AS "startedAt",
                 ${milliseconds('p.key_valid_until')} AS "keyValidUntil"
          FROM ${phases} p
          WHERE ${isPhaseOf('k')} AND p.state = 'intended'
          ORDER BY p.position
          LIMIT 1`;
}
