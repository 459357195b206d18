import { describe, expect, it } from '@jest/globals';
import { resolveEncryption } from '../../lib/encryption/encryption.settings.js';

const SECRET = 'a-secret-of-0123456789-and-more-bytes';
const KEY = { id: 'k1', secret: SECRET };
const PROVIDER = { currentKeyId: 'kms', wrap: async () => '', unwrap: async () => '' };

const resolve = (options: unknown) => () => resolveEncryption('forRoot options', options as never);

describe('A mistake in the encryption option stops the boot with the cure', () => {
  it.each<[string, unknown, RegExp]>([
    ['no object', 'secret', /\{ keys: \[\{ id, secret \}\] \} or \{ provider \}/],
    ['neither keys nor provider', {}, /keys: \[\{ id, secret \}\], or provider/],
    ['both', { keys: [KEY], provider: PROVIDER }, /only one of keys/],
    ['no keys', { keys: [] }, /at least one \{ id, secret \}.*randomBytes/],
    ['a misspelt name', { keys: [KEY], plainTextUntill: 1 }, /Did you mean plaintextUntil/],
    ['a misspelt name of a key', { keys: [{ ...KEY, secrets: 1 }] }, /Did you mean secret/],
    ['no id', { keys: [{ secret: SECRET }] }, /keys\[0\]\.id/],
    ['the same id twice', { keys: [KEY, { ...KEY }] }, /Give each key an id of its own/],
    ['no secret', { keys: [{ id: 'k1' }] }, /secret is missing/],
    ['a short secret', { keys: [{ id: 'k1', secret: 'short' }] }, /5 bytes; at least 32/],
    ['a secret of one letter', { keys: [{ id: 'k1', secret: 'a'.repeat(64) }] }, /can be guessed/],
    ['half a provider', { provider: { currentKeyId: 'a' } }, /wrap\(dataKey, context\)/],
    ['no date', { keys: [KEY], plaintextUntil: 'soon' }, /not a date/],
    ['a date in the past', { keys: [KEY], plaintextUntil: '2020-01-01' }, /which is over.*remove/],
    ['seal: false alone', { keys: [KEY], seal: false }, /Set plaintextUntil/],
    ['a wrong seal', { keys: [KEY], seal: 'no' }, /true or false/],
    ['a wrong bound', { keys: [KEY], dataKeyCache: { maxKeys: 0 } }, /whole number from 1/],
    ['a wrong age', { keys: [KEY], dataKeyCache: { maxAge: 'old' } }, /maxAge/],
    ['a misspelt bound', { keys: [KEY], dataKeyCache: { max: 1 } }, /dataKeyCache\.max/],
  ])('%s', (_, options, message) => {
    expect(resolve(options)).toThrow(message);
    expect(resolve(options)).not.toThrow(SECRET);
  });

  it('and a right one does not', () => {
    expect(resolve({ keys: [KEY], plaintextUntil: '2999-01-01', seal: false })()).toMatchObject({
      seals: false,
      keyIds: ['k1'],
      dataKeyCache: { maxKeys: 10_000, maxAge: 30_000 },
    });
    expect(resolve({ provider: PROVIDER })()).toMatchObject({ keyIds: undefined, seals: true });
    expect(resolve(undefined)()).toBeUndefined();
  });
});
