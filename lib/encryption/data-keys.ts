import { randomUUID } from 'node:crypto';
import { Batcher } from '../postgres/batcher.js';
import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';
import { DataKey } from './data-key.js';
import { DataKeyError } from './data-key.error.js';
import type { DataKeyStore, WrappedDataKey } from './data-key-store.js';
import { inTime } from './in-time.js';
import type { MasterKeyProvider } from './master-keys.js';

export interface DataKeyCacheSettings {
  /** How many data keys a process keeps. */
  maxKeys: number;
  /** After how long a kept one is looked for again, in milliseconds. */
  maxAge: number;
}

interface Kept {
  key: DataKey;
  wrapped: WrappedDataKey;
  /** When the statement was sent that saw it, by performance.now(). */
  seenAt: number;
}

/** More rounds than any race between creating and erasing takes. */
const MOST_ROUNDS = 5;

/**
 * The data keys of scopes, with a bounded memory. One that was seen longer than
 * `maxAge` ago is looked for again before it is used, so that an erasure by
 * another process takes effect here within that time. Only the look is repeated:
 * the master key is asked again only if the stored data key has changed.
 */
export class DataKeys {
  private readonly kept = new Map<string, Kept>();
  private readonly loading = new Map<string, Promise<DataKey>>();
  /** Scopes of concurrent requests are read together. */
  private readonly reads: Batcher<string, WrappedDataKey | undefined>;

  constructor(
    private readonly store: DataKeyStore,
    private readonly masterKeys: MasterKeyProvider,
    private readonly cache: DataKeyCacheSettings,
    /** How long a statement and the provider may take, in milliseconds. */
    private readonly timeout: number,
  ) {
    this.reads = new Batcher(
      async (scopes) => {
        const rows = new Map((await store.find(scopes)).map((row) => [row.scope, row]));
        return scopes.map((scope) => rows.get(scope));
      },
      { name: 'data keys', wait: timeout, weigh: (scope) => scope.length + 100 },
    );
  }

  /** The data key of a scope, made if it has none. A promise only where the store is asked. */
  of(scope: string): DataKey | Promise<DataKey> {
    const kept = this.kept.get(scope);
    if (kept && performance.now() - kept.seenAt < this.cache.maxAge) return kept.key;
    return this.load(scope);
  }

  /** Asks the store, whatever is kept. */
  load(scope: string): Promise<DataKey> {
    let loading = this.loading.get(scope);
    if (!loading) {
      loading = this.findOrMake(scope).finally(() => this.loading.delete(scope));
      this.loading.set(scope, loading);
    }
    return loading;
  }

  /** Those of these scopes that exist; null for one that could not be unwrapped. */
  async find(scopes: readonly string[]): Promise<Map<string, DataKey | null>> {
    const asOf = performance.now();
    const rows = await Promise.all(scopes.map((scope) => this.reads.call(scope)));
    const found = new Map<string, DataKey | null>();
    await Promise.all(
      rows.map(async (row) => {
        if (row) found.set(row.scope, await this.keep(row, asOf).catch(() => null));
      }),
    );
    return found;
  }

  forget(scope: string): void {
    this.kept.delete(scope);
  }

  private async findOrMake(scope: string): Promise<DataKey> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const asOf = performance.now();
      const row = await this.reads.call(scope);
      if (row) return this.keep(row, asOf);
      this.forget(scope);
      await this.store.add([await this.made(scope)]);
    }
    throw new StoreUnavailableError('The data key of a scope could not be made.');
  }

  private async made(scope: string): Promise<WrappedDataKey> {
    const id = randomUUID();
    const { currentKeyId: masterKey } = this.masterKeys;
    const secret = DataKey.randomSecret();
    const wrapped = await this.ask(() => this.masterKeys.wrap(secret, { scope, dataKeyId: id }));
    return { scope, id, masterKey, wrapped: Buffer.from(wrapped) };
  }

  private async keep(row: WrappedDataKey, seenAt: number): Promise<DataKey> {
    const kept = this.kept.get(row.scope);
    const same = kept?.wrapped.id === row.id;
    const key = same ? kept.key : await this.unwrap(row);
    // At the end, so that the first entry is the one that was seen longest ago.
    this.kept.delete(row.scope);
    this.kept.set(row.scope, { key, wrapped: row, seenAt });
    if (this.kept.size > this.cache.maxKeys) this.kept.delete(this.kept.keys().next().value!);
    return key;
  }

  private async unwrap({ scope, id, masterKey, wrapped }: WrappedDataKey): Promise<DataKey> {
    const secret = Buffer.from(
      await this.ask(() => this.masterKeys.unwrap(wrapped, masterKey, { scope, dataKeyId: id })),
    );
    if (DataKey.isSecret(secret)) return new DataKey(id, secret);
    throw new DataKeyError(
      `The master key ${JSON.stringify(masterKey)} unwrapped something that is not a data key.`,
    );
  }

  /** Fail closed: without its data key, nothing of a scope may be run. */
  private async ask(question: () => Promise<Uint8Array>): Promise<Uint8Array> {
    try {
      return await inTime(question, this.timeout);
    } catch (cause) {
      throw new DataKeyError(
        'The master key could not wrap or unwrap the data key of a scope. Check encryption.keys, or the key management service that encryption.provider asks.',
        cause,
      );
    }
  }
}
