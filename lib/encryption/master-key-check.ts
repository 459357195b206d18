import { inspect } from 'node:util';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import { refuseUnknownNames } from '../policy/unknown-names.js';
import { MASTER_KEY_NAMES } from './encryption.options.js';

/** As many as the cipher uses. */
const SHORTEST_SECRET = 32;

/** Random bytes in hexadecimal have more; a word that is repeated has fewer. */
const FEWEST_DIFFERENT = 8;

const LONGEST_ID = 100;

const CURE =
  "Make one with: node -e \"console.log(require('node:crypto').randomBytes(32).toString('base64'))\"";

/** Refuses master keys that protect nothing. No error shows anything of a secret. */
export function checkMasterKeys(where: string, keys: unknown): void {
  const mistake = (text: string) =>
    new IdempotencyConfigurationError(`${where}: encryption.keys${text}`);
  if (!Array.isArray(keys) || keys.length === 0) {
    throw mistake(
      ` has to be a list with at least one { id, secret }: the first one wraps new data keys. ${CURE}`,
    );
  }
  const ids = new Set<string>();
  keys.forEach((key: unknown, index) => {
    const at = `[${index}]`;
    if (typeof key !== 'object' || key === null) {
      throw mistake(`${at} is of type ${typeof key}. Use { id, secret }.`);
    }
    refuseUnknownNames(where, key, MASTER_KEY_NAMES, `encryption.keys${at}.`);
    const { id, secret } = key as { id?: unknown; secret?: unknown };
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID || /[^\x20-\x7e]/.test(id)) {
      throw mistake(
        `${at}.id is ${inspect(id, { depth: 0 })}. Use a short name in ASCII, such as '2026-11'. It is stored beside what the key wraps.`,
      );
    }
    if (ids.has(id)) {
      throw mistake(
        `${at}.id is ${inspect(id)}, and so is that of a key before it. Give each key an id of its own, and never use one again for another secret.`,
      );
    }
    ids.add(id);
    if (typeof secret !== 'string' && !(secret instanceof Uint8Array)) {
      throw mistake(
        `${at}.secret is ${secret === undefined ? 'missing' : `of type ${typeof secret}`}. Use text or bytes, such as from an environment variable. ${CURE}`,
      );
    }
    const bytes = Buffer.from(secret as string);
    if (bytes.length < SHORTEST_SECRET) {
      throw mistake(
        `${at}.secret has ${bytes.length} bytes; at least ${SHORTEST_SECRET} are needed. ${CURE}`,
      );
    }
    if (new Set(bytes).size < FEWEST_DIFFERENT) {
      throw mistake(`${at}.secret repeats a few characters, so it can be guessed. ${CURE}`);
    }
  });
}
