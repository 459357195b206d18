import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { DataKeyStore } from './data-key-store.js';
import type { EncryptionSettings } from './encryption.settings.js';

/** Refuses to start with keys that cannot read what the tables hold, and says which are missing. */
export async function checkEncryption(
  store: DataKeyStore,
  settings: EncryptionSettings | undefined,
): Promise<void> {
  // Which keys a provider has is not known here.
  if (settings && settings.keyIds === undefined) return;
  const used = await store.masterKeys();
  const known = settings?.keyIds ?? [];
  const missing = used.filter((id) => !known.includes(id)).map((id) => JSON.stringify(id));
  if (missing.length === 0) return;
  if (!settings) {
    throw new IdempotencyConfigurationError(
      `encryption: the table idempotency_data_keys holds data keys under ${missing.join(', ')}, so there are sealed values, which could not be read. ` +
        'Give forRoot() the encryption option of the processes that wrote them. If nothing sealed is needed any more, empty that table.',
    );
  }
  throw new IdempotencyConfigurationError(
    `encryption.keys: data keys are wrapped by ${missing.join(', ')}, which is not among the keys, so their scopes could not be read. ` +
      'Add it again behind the first key, run IdempotencyOperator.reencrypt() in a process that has both, and remove it after that.',
  );
}
