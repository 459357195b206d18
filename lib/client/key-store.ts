/** A key that waits for its outcome. It is JSON. */
export interface StoredKey {
  key: string;
  /** Of the request: another one under the same name is noticed. Empty where it could not be computed. */
  fingerprint: string;
  /** How often the request was sent. */
  attempts: number;
  /** When the server may forget the key, in milliseconds since 1970: from then on it is not sent any more. */
  expires: number;
}

/**
 * Where the keys of named operations wait for their outcome, so that a client
 * that is started again goes on with the key it had.
 */
export interface KeyStore {
  /**
   * Stores the key under this name, unless there is one, and returns the one that
   * is there then. In one step: two clients that call it at once must get the same
   * key. It must have survived a crash before the promise resolves.
   */
  add(operation: string, key: StoredKey): StoredKey | Promise<StoredKey>;

  /** Replaces what is stored under this name, if it has the same `key`. */
  update(operation: string, key: StoredKey): void | Promise<void>;

  /** Forgets the name; with a key, only if that is the one it stands for. */
  remove(operation: string, key?: string): void | Promise<void>;
}

/** Keys that live as long as this process or page. */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, StoredKey>();
  return {
    add(operation, key) {
      const there = keys.get(operation);
      if (!there) keys.set(operation, key);
      return { ...(there ?? key) };
    },
    update(operation, key) {
      if (keys.get(operation)?.key === key.key) keys.set(operation, { ...key });
    },
    remove(operation, key) {
      if (key === undefined || keys.get(operation)?.key === key) keys.delete(operation);
    },
  };
}
