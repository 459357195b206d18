import type { KeyName } from '../schema/key-name.js';
import type { FoundKey } from './key-store.js';

/** What identifies a state of a key: a statement that names it fails if anything happened since. */
export type SeenKey = KeyName & Pick<FoundKey, 'id' | 'owner' | 'attempt' | 'lockedUntil'>;

/** What a SeenKey is made of, and the status. */
export const SEEN = `k.id, k.scope, k.endpoint, k.key, k.owner, k.attempt, k.status, extract(epoch FROM k.locked_until)::text AS "lockedUntil"`;
