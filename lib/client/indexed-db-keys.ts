import type { KeyStore, StoredKey } from './key-store.js';

/** What is used of IndexedDB. Its own types would bring those of all browsers into every program. */
interface Asked {
  result: unknown;
  error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}
interface Opening extends Asked {
  result: Database;
  onupgradeneeded: (() => void) | null;
}
interface Database {
  createObjectStore(name: string): unknown;
  transaction(name: string, mode: string, options: object): Transaction;
}
interface Transaction {
  objectStore(name: string): Table;
  error: unknown;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
}
interface Table {
  get(key: string): Asked;
  put(value: unknown, key: string): Asked;
  delete(key: string): Asked;
}

const TABLE = 'keys';

/**
 * Keys in the browser's IndexedDB, where they survive a reload and are shared by
 * the tabs of an origin.
 *
 * @param name of the database
 */
export function indexedDbKeys(name = 'idempotency-keys'): KeyStore {
  let opened: Promise<Database> | undefined;

  /** One transaction around a look and what follows from it: tabs wait for each other here. */
  async function change<T>(
    operation: string,
    work: (there: StoredKey | undefined, table: Table) => T,
  ): Promise<T> {
    const database = await (opened ??= open(name));
    return new Promise<T>((resolve, reject) => {
      // On disk before it is reported, as far as the browser can: the key is sent right after.
      const transaction = database.transaction(TABLE, 'readwrite', { durability: 'strict' });
      const table = transaction.objectStore(TABLE);
      const look = table.get(operation);
      let result: T;
      look.onsuccess = () => {
        result = work(look.result as StoredKey | undefined, table);
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error as Error);
    });
  }

  return {
    add: (operation, key) =>
      change(operation, (there, table) => {
        if (!there) table.put(key, operation);
        return there ?? key;
      }),
    update: (operation, key) =>
      change(operation, (there, table) => {
        if (there?.key === key.key) table.put(key, operation);
      }),
    remove: (operation, key) =>
      change(operation, (there, table) => {
        if (key === undefined || there?.key === key) table.delete(operation);
      }),
  };
}

function open(name: string): Promise<Database> {
  const { indexedDB } = globalThis as unknown as {
    indexedDB: { open(name: string, version: number): Opening };
  };
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(TABLE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error as Error);
  });
}
