import type { Provider } from '@nestjs/common';
import { ColumnCiphers } from './encryption/column-cipher.js';
import { DataKeyStore } from './encryption/data-key-store.js';
import { DataKeys } from './encryption/data-keys.js';
import { PlainCiphers } from './encryption/plain-cipher.js';
import { SealingCiphers } from './encryption/sealing-ciphers.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { Database } from './postgres/database.js';

/** How users' data is written to columns: as it is, or sealed. */
export const encryptionProviders: Provider[] = [
  {
    provide: DataKeyStore,
    useFactory: (database: Database) => new DataKeyStore(database),
    inject: [Database],
  },
  {
    // Undefined without the option.
    provide: DataKeys,
    useFactory: (store: DataKeyStore, { encryption, storeTimeout }: IdempotencySettings) =>
      encryption &&
      new DataKeys(store, encryption.masterKeys, encryption.dataKeyCache, storeTimeout),
    inject: [DataKeyStore, IdempotencySettings],
  },
  {
    provide: ColumnCiphers,
    useFactory: ({ encryption }: IdempotencySettings, dataKeys: DataKeys | undefined) =>
      encryption && dataKeys ? new SealingCiphers(dataKeys, encryption) : new PlainCiphers(),
    inject: [IdempotencySettings, { token: DataKeys, optional: true }],
  },
];
