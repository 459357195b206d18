import type { Duration } from '../policy/duration.js';
import type { Names } from '../policy/unknown-names.js';
import type { MasterKey, MasterKeyProvider } from './master-keys.js';

/** Encryption of users' data in the tables. Give either `keys` or `provider`. */
export interface EncryptionOptions {
  /**
   * Master keys that this process has. The first one wraps the data keys of new
   * scopes; the others only unwrap what they wrapped before, during a rotation.
   */
  keys?: readonly MasterKey[];

  /** Asks a key management service instead, so that the master key never leaves it. */
  provider?: MasterKeyProvider;

  /**
   * Until when values that are not sealed are accepted: those from before this
   * option was given. Set it for the time that it takes to run
   * `IdempotencyOperator.reencrypt()`; after it, plaintext is refused.
   * @default none: plaintext is refused from the start
   */
  plaintextUntil?: Date | string;

  /**
   * Whether new values are sealed. False is for the first of two deployments that
   * turn encryption on while requests come in: every process has to be able to
   * read sealed values before one writes them.
   * @default true
   */
  seal?: boolean;

  /**
   * The data keys that a process keeps in memory. One that was read longer than
   * `maxAge` ago is read again before it is used, so an erased scope is erased for
   * every process within that time. Raise `maxKeys` if more scopes than that are
   * active within `maxAge`.
   * @default { maxKeys: 10000, maxAge: '30s' }
   */
  dataKeyCache?: { maxKeys?: number; maxAge?: Duration };
}

export const ENCRYPTION_NAMES = {
  keys: true,
  provider: true,
  plaintextUntil: true,
  seal: true,
  dataKeyCache: true,
} satisfies Names<EncryptionOptions>;

export const MASTER_KEY_NAMES = { id: true, secret: true } satisfies Names<MasterKey>;

export const DATA_KEY_CACHE_NAMES = { maxKeys: true, maxAge: true } satisfies Names<
  NonNullable<EncryptionOptions['dataKeyCache']>
>;
