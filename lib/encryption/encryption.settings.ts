import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { timerMilliseconds } from '../policy/resolve-policy.js';
import { refuseUnknownNames } from '../policy/unknown-names.js';
import type { DataKeyCacheSettings } from './data-keys.js';
import {
  DATA_KEY_CACHE_NAMES,
  ENCRYPTION_NAMES,
  type EncryptionOptions,
} from './encryption.options.js';
import { checkMasterKeys } from './master-key-check.js';
import { LocalMasterKeys, type MasterKeyProvider } from './master-keys.js';
import type { SealingRules } from './sealing-cipher.js';

export interface EncryptionSettings extends SealingRules {
  masterKeys: MasterKeyProvider;
  /** The ids of the keys that can unwrap; undefined if only a provider knows. */
  keyIds: readonly string[] | undefined;
  dataKeyCache: DataKeyCacheSettings;
}

const MAX_KEYS = 10_000;

/** Long enough to cost nothing, short enough for somebody who waits for an erasure. */
const MAX_AGE = '30s';

/** @returns undefined without the option */
export function resolveEncryption(
  where: string,
  options: EncryptionOptions | undefined,
): EncryptionSettings | undefined {
  if (options === undefined) return undefined;
  const mistake = (text: string) =>
    new IdempotencyConfigurationError(`${where}: encryption${text}`);
  if (typeof options !== 'object' || options === null) {
    throw mistake(` is of type ${typeof options}. Use { keys: [{ id, secret }] } or { provider }.`);
  }
  refuseUnknownNames(where, options, ENCRYPTION_NAMES, 'encryption.');
  const { keys, provider, plaintextUntil, seal = true, dataKeyCache = {} } = options;
  if ((keys === undefined) === (provider === undefined)) {
    throw mistake(
      `: give ${keys ? 'only one of' : ''} keys: [{ id, secret }], or provider, an object with currentKeyId, wrap() and unwrap().`,
    );
  }
  if (keys !== undefined) checkMasterKeys(where, keys);
  else checkProvider(provider, mistake);
  if (typeof seal !== 'boolean') {
    throw mistake(`.seal is ${inspect(seal)}. Use true or false.`);
  }
  const until = plaintextUntil === undefined ? -Infinity : dateOf(plaintextUntil, mistake);
  if (!seal && plaintextUntil === undefined) {
    throw mistake(
      '.seal is false, so plaintext is written, and without plaintextUntil it would be refused when it is read. Set plaintextUntil to the date by which everything is to be sealed.',
    );
  }
  refuseUnknownNames(where, dataKeyCache, DATA_KEY_CACHE_NAMES, 'encryption.dataKeyCache.');
  const { maxKeys = MAX_KEYS, maxAge = MAX_AGE } = dataKeyCache;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw mistake(`.dataKeyCache.maxKeys is ${inspect(maxKeys)}. Use a whole number from 1.`);
  }
  return {
    masterKeys: provider ?? new LocalMasterKeys(keys!),
    keyIds: keys?.map(({ id }) => id),
    seals: seal,
    plaintextUntil: until,
    dataKeyCache: {
      maxKeys,
      maxAge: timerMilliseconds(where, 'encryption.dataKeyCache.maxAge', maxAge),
    },
  };
}

function checkProvider(provider: unknown, mistake: (text: string) => Error): void {
  const { currentKeyId, wrap, unwrap } = (provider ?? {}) as Record<string, unknown>;
  const complete =
    typeof currentKeyId === 'string' &&
    currentKeyId !== '' &&
    typeof wrap === 'function' &&
    typeof unwrap === 'function';
  if (complete) return;
  throw mistake(
    '.provider has to have currentKeyId, a non-empty string, and the methods wrap(dataKey, context) and unwrap(wrapped, keyId, context).',
  );
}

function dateOf(given: Date | string, mistake: (text: string) => Error): number {
  const date = new Date(given);
  if (Number.isNaN(date.getTime())) {
    throw mistake(
      `.plaintextUntil is ${inspect(given)}, which is not a date. Use a Date, or text such as '2030-01-31'.`,
    );
  }
  if (date.getTime() > Date.now()) return date.getTime();
  throw mistake(
    `.plaintextUntil is ${date.toISOString()}, which is over. If IdempotencyOperator.reencrypt() has sealed everything, remove the option; otherwise set a later date and run it.`,
  );
}
