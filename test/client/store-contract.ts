import { expect, it } from '@jest/globals';
import type { KeyStore, StoredKey } from 'nestjs-atomic-idempotency/client';

const KEY: StoredKey = { key: 'first', fingerprint: 'f', attempts: 1, expires: 1_800_000_000_000 };
const OTHER: StoredKey = { ...KEY, key: 'other' };

/**
 * What the client relies on in a store.
 *
 * @param open the store, as a process sees it that has just been started
 */
export function describeKeyStore(open: () => KeyStore, nameOf: (test: string) => string): void {
  it('gives the key that is there, whoever asks', async () => {
    const name = nameOf('there');
    expect(await open().add(name, KEY)).toEqual(KEY);
    expect(await open().add(name, OTHER)).toEqual(KEY);
  });

  it('gives one key to all that come at once', async () => {
    const name = nameOf('at-once');
    const keys = Array.from({ length: 8 }, (_, index) => ({ ...KEY, key: `key-${index}` }));
    const added = await Promise.all(keys.map(async (key) => open().add(name, key)));
    expect(new Set(added.map(({ key }) => key)).size).toBe(1);
  });

  it('remembers what changes of a key, and of no other one', async () => {
    const name = nameOf('changes');
    await open().add(name, KEY);
    await open().update(name, { ...KEY, attempts: 2 });
    await open().update(name, { ...OTHER, attempts: 9 });
    expect(await open().add(name, OTHER)).toEqual({ ...KEY, attempts: 2 });
  });

  it('forgets a key, and no other one, or whatever is there', async () => {
    const name = nameOf('forgets');
    await open().add(name, KEY);
    await open().remove(name, OTHER.key);
    expect(await open().add(name, OTHER)).toEqual(KEY);
    await open().remove(name, KEY.key);
    expect(await open().add(name, OTHER)).toEqual(OTHER);
    await open().remove(name);
    expect(await open().add(name, KEY)).toEqual(KEY);
  });
}
