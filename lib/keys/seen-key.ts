import { exactTime } from '../postgres/times.js';
import type { KeyName } from '../schema/key-name.js';
import type { FoundKey } from './found-key.js';

/**
 * Identifies a state of a key: a statement that names it changes nothing if the
 * key has changed since.
 */
export type SeenKey = KeyName & Pick<FoundKey, 'id' | 'owner' | 'attempt' | 'lockedUntil'>;

/** The columns of a SeenKey, and the status. */
export const SEEN = `k.id, k.scope, k.endpoint, k.key, k.owner, k.attempt, k.status, ${exactTime('k.locked_until')} AS "lockedUntil"`;
