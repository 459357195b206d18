import type { RunningEffect } from './effect.js';
import { RequestRefusedError } from './errors.js';
import type { KeyStore, StoredKey } from './key-store.js';
import { uuidV7 } from './uuid-v7.js';

/** The key of one call, wherever it is kept. */
export interface HeldKey extends StoredKey {
  operation?: string | undefined;
  /** A request under this key may have had an effect before this call. */
  usedBefore: boolean;
  /** What the call may be ended by, apart from its caller. */
  signals: readonly AbortSignal[];
  /** Called before an attempt, and when the server tells more about the key. */
  save(): void | Promise<void>;
  /** The outcome is known. */
  remove(): void | Promise<void>;
  /** Sends the same request again. */
  again<T>(send: () => T): T;
}

/** Nobody keeps it but this call. */
export function keyInMemory(fingerprint: string, key = uuidV7(), lifetime = Infinity): HeldKey {
  return {
    ...fresh(fingerprint, key, lifetime),
    usedBefore: false,
    signals: [],
    save() {},
    remove() {},
    again: (send) => send(),
  };
}

/** The effect key of the foreign phase that is running. The phase remembers it. */
export function keyOfPhase(fingerprint: string, effect: RunningEffect): HeldKey {
  const { key, attempt, inDoubt, signal } = effect;
  const held: HeldKey = {
    ...keyInMemory(fingerprint, key),
    attempts: attempt - 1,
    usedBefore: inDoubt || effect.fingerprint !== undefined,
    signals: [signal],
    again: (send) => effect.again(send),
  };
  refuseOther(held, effect.fingerprint, 'A foreign phase is one call. Give each its own phase.');
  effect.fingerprint = fingerprint;
  return held;
}

/** The key that waits under this name, or a new one. */
export async function keyInStore(
  fingerprint: string,
  keys: KeyStore,
  operation: string,
  lifetime: number,
): Promise<HeldKey> {
  const made = fresh(fingerprint, uuidV7(), lifetime);
  const stored = await keys.add(operation, made);
  const { key, attempts } = stored;
  const held: HeldKey = {
    ...keyInMemory(fingerprint, key),
    operation,
    attempts,
    // What never expires is null in JSON.
    expires: (stored.expires as number | null) ?? Infinity,
    usedBefore: key !== made.key,
    save: () =>
      keys.update(operation, { key, fingerprint, attempts: held.attempts, expires: held.expires }),
    remove: () => keys.remove(operation, key),
  };
  refuseOther(
    held,
    stored.fingerprint,
    `The operation "${operation}" was begun with another request. Use another name for another operation, or forget() this one.`,
  );
  return held;
}

function fresh(fingerprint: string, key: string, lifetime: number): StoredKey {
  return { key, fingerprint, attempts: 0, expires: Date.now() + lifetime };
}

function refuseOther(held: HeldKey, earlier: string | undefined, detail: string): void {
  if (!earlier || !held.fingerprint || earlier === held.fingerprint) return;
  throw new RequestRefusedError('key_reused', { detail }, held);
}
