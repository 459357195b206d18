import type { DataKeyStore, WrappedDataKey } from './data-key-store.js';
import type { MasterKeyProvider } from './master-keys.js';

const BATCH = 100;

/** What a rotation did. */
export interface Rotated {
  rewrapped: number;
  /** Their master key could not unwrap them: they are left as they are. */
  unreadable: number;
}

/**
 * Wraps data keys with the current master key that another one wraps. What is
 * sealed with them is not touched, so a rotation costs one small row per scope.
 */
export class DataKeyRotation {
  constructor(
    private readonly store: DataKeyStore,
    private readonly masterKeys: MasterKeyProvider,
  ) {}

  async run(): Promise<Rotated> {
    const rotated = { rewrapped: 0, unreadable: 0 };
    const { currentKeyId } = this.masterKeys;
    for (const masterKey of await this.store.masterKeys()) {
      if (masterKey !== currentKeyId) await this.rewrapAll(masterKey, rotated);
    }
    return rotated;
  }

  private async rewrapAll(masterKey: string, rotated: Rotated): Promise<void> {
    let after: string | null = null;
    for (;;) {
      const found: WrappedDataKey[] = await this.store.wrappedBy(masterKey, after, BATCH);
      for (const each of found)
        rotated[(await this.rewrap(each)) ? 'rewrapped' : 'unreadable'] += 1;
      if (found.length < BATCH) return;
      after = found.at(-1)!.scope;
    }
  }

  /** Also true if another process has done it, or the scope was erased meanwhile. */
  private async rewrap(dataKey: WrappedDataKey): Promise<boolean> {
    const { scope, id: dataKeyId, masterKey, wrapped } = dataKey;
    const context = { scope, dataKeyId };
    const { currentKeyId } = this.masterKeys;
    let again: Uint8Array;
    try {
      const secret = await this.masterKeys.unwrap(wrapped, masterKey, context);
      again = await this.masterKeys.wrap(Buffer.from(secret), context);
    } catch {
      return false;
    }
    await this.store.rewrap(dataKey, { masterKey: currentKeyId, wrapped: Buffer.from(again) });
    return true;
  }
}
