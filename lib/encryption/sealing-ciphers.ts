import { ColumnCiphers, type CipherOf, type ColumnCipher } from './column-cipher.js';
import type { DataKey } from './data-key.js';
import type { DataKeys } from './data-keys.js';
import { SealingCipher, type SealingRules } from './sealing-cipher.js';

/** With the `encryption` option: each scope has a data key of its own. */
export class SealingCiphers extends ColumnCiphers {
  /** So that the ciphers of one data key share what is derived from it. */
  private readonly ciphers = new WeakMap<DataKey, ColumnCipher>();

  constructor(
    private readonly dataKeys: DataKeys,
    private readonly rules: SealingRules,
  ) {
    super();
  }

  override of(scope: string): ColumnCipher | Promise<ColumnCipher> {
    const key = this.dataKeys.of(scope);
    return key instanceof Promise
      ? key.then((loaded) => this.cipher(scope, loaded))
      : this.cipher(scope, key);
  }

  override async renewed(scope: string): Promise<ColumnCipher> {
    return this.cipher(scope, await this.dataKeys.load(scope));
  }

  /** Always from the store: what is read here is shown to people, or handed to workers. */
  override async readers(rows: readonly { scope: string }[]): Promise<CipherOf> {
    const scopes = [...new Set(rows.map(({ scope }) => scope))];
    const keys = await this.dataKeys.find(scopes);
    return (scope) => {
      const key = keys.get(scope);
      if (key) return this.cipher(scope, key);
      const absence = key === null ? 'master_key' : 'erased';
      return new SealingCipher(scope, undefined, this.rules, absence);
    };
  }

  private cipher(scope: string, key: DataKey): ColumnCipher {
    let cipher = this.ciphers.get(key);
    if (!cipher) this.ciphers.set(key, (cipher = new SealingCipher(scope, key, this.rules)));
    return cipher;
  }
}
