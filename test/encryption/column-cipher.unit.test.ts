import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { AUDIT, KEY, MESSAGE, PHASE } from '../../lib/encryption/columns.js';
import { DataKey } from '../../lib/encryption/data-key.js';
import { LocalMasterKeys } from '../../lib/encryption/master-keys.js';
import { PLAIN } from '../../lib/encryption/plain-cipher.js';
import { SealingCipher } from '../../lib/encryption/sealing-cipher.js';
import { Xaes256Gcm } from '../../lib/encryption/xaes-256-gcm.js';

const STRICT = { seals: true, plaintextUntil: -Infinity };
const MIXED = { seals: true, plaintextUntil: Infinity };
const READING = { seals: false, plaintextUntil: Infinity };

const key = new DataKey(randomUUID(), DataKey.randomSecret());
const cipher = new SealingCipher('ada', key, STRICT);
const row = { endpoint: '', key: 'k-1' };
const JSON_TEXT = '{"card":"4242"}';

describe('XAES-256-GCM', () => {
  const nonce = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWX');
  const content = Buffer.from('XAES-256-GCM');

  it.each([
    [1, '', 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271'],
    [3, 'c2sp.org/XAES-256-GCM', '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d'],
  ])('seals as the published test vectors do (key of bytes %s)', (byte, bound, expected) => {
    const xaes = new Xaes256Gcm(Buffer.alloc(32, byte));
    const sealed = xaes.sealWith(nonce, content, Buffer.from(bound));
    expect(sealed.subarray(24).toString('hex')).toBe(expected);
    expect(xaes.open(sealed, Buffer.from(bound))).toEqual(content);
  });
});

describe('A sealed value', () => {
  it('opens where it was written, and looks different each time', () => {
    const [one, two] = [1, 2].map(() => cipher.json(JSON_TEXT, KEY.request, row)!);
    expect(one).not.toBe(two);
    expect(JSON.parse(one!)).not.toContain('4242');
    expect(cipher.openJson(one!, KEY.request, row)).toBe(JSON_TEXT);
    expect(cipher.openText(cipher.text('/a/b', KEY.path, row), KEY.path, row)).toBe('/a/b');
    expect([cipher.json(undefined, KEY.request, row), cipher.text(null, KEY.path, row)]).toEqual([
      null,
      null,
    ]);
  });

  it('does not open in another column, row, table or scope, or after a change', () => {
    const sealed = cipher.json(JSON_TEXT, KEY.request, row)!;
    const other = new SealingCipher('bob', key, STRICT);
    const changed = sealed.replace(/.(?="$)/, (last) => (last === 'A' ? 'B' : 'A'));
    const attempts = [
      () => cipher.openJson(sealed, KEY.input, row),
      () => cipher.openJson(sealed, KEY.request, { ...row, key: 'k-2' }),
      () => cipher.openJson(sealed, KEY.request, { endpoint: 'POST /a', key: 'k-1' }),
      () => cipher.openJson(sealed, PHASE.request, { keyId: '', name: 'k-1' }),
      () => cipher.openJson(sealed, MESSAGE.payload, { id: 'k-1' }),
      () => other.openJson(sealed, KEY.request, row),
      () => cipher.openJson(changed, KEY.request, row),
      () => cipher.openJson(' "AAAA"', KEY.request, row),
    ];
    for (const open of attempts) expect(open).toThrow(/idempotency_\w+\.\w+/);
  });

  it('of another data key is refused as erased', () => {
    const later = new SealingCipher('ada', new DataKey(randomUUID(), randomBytes(32)), STRICT);
    const sealed = cipher.json(JSON_TEXT, KEY.request, row)!;
    expect(() => later.openJson(sealed, KEY.request, row)).toThrow('erased');
    expect(later.faultOf(cipher.fingerprint(randomBytes(32)))?.reason).toBe('erased');
  });

  it('cannot be imitated by users: no JSON and no text of theirs is taken for one', () => {
    const sealed = cipher.json(JSON_TEXT, KEY.request, row)!;
    const imitation = JSON.stringify(JSON.parse(sealed));
    const mixed = new SealingCipher('ada', key, MIXED);
    for (const each of [PLAIN, mixed]) {
      expect(each.openJson(PLAIN.json(imitation, KEY.request, row), KEY.request, row)).toBe(
        imitation,
      );
      const text = cipher.text('a', KEY.path, row)!;
      const stored = PLAIN.text(text, KEY.path, row)!;
      expect(each.openText(stored, KEY.path, row)).toBe(`\ufffd${text.slice(1)}`);
    }
    expect(mixed.openText(mixed.text('\u0001a', KEY.path, row), KEY.path, row)).toBe('\u0001a');
  });

  it('is refused by a process without the option, and plaintext by one whose mixed period is over', () => {
    expect(() => PLAIN.openJson(cipher.json('1', KEY.request, row), KEY.request, row)).toThrow(
      'has no encryption',
    );
    expect(() => PLAIN.openText(cipher.text('a', AUDIT.why, AUDITED), AUDIT.why, AUDITED)).toThrow(
      'has no encryption',
    );
    expect(PLAIN.faultOf(cipher.fingerprint(randomBytes(32)))?.reason).toBe('not_configured');
    expect(() => cipher.openJson(JSON_TEXT, KEY.request, row)).toThrow('plaintextUntil');
    expect(cipher.faultOf(randomBytes(32))?.reason).toBe('plaintext');
  });
});

const AUDITED = { keyId: '1', messageId: null, action: 'retry' };

describe('A fingerprint', () => {
  const plain = randomBytes(32);

  it('is keyed, and is compared with sealed and with plain ones in the mixed period', () => {
    const sealed = cipher.fingerprint(plain);
    expect(sealed.includes(plain)).toBe(false);
    for (const rules of [MIXED, READING]) {
      const mixed = new SealingCipher('ada', key, rules);
      for (const stored of [sealed, plain]) {
        expect(mixed.faultOf(stored)).toBeUndefined();
        expect(mixed.isFingerprint(stored, plain)).toBe(true);
        expect(mixed.isFingerprint(stored, randomBytes(32))).toBe(false);
      }
    }
    expect(new SealingCipher('ada', key, READING).fingerprint(plain)).toBe(plain);
  });
});

describe('A wrapped data key', () => {
  const OLD = { id: 'old', secret: randomBytes(32) };
  const NEW = { id: 'new', secret: randomBytes(32).toString('base64') };
  const context = { scope: 'ada', dataKeyId: randomUUID() };

  it('from before a rotation cannot be opened once the old master key is gone', async () => {
    const secret = DataKey.randomSecret();
    const inBackup = await new LocalMasterKeys([OLD]).wrap(secret, context);
    const both = new LocalMasterKeys([NEW, OLD]);
    expect(await both.unwrap(inBackup, 'old', context)).toEqual(secret);
    const rewrapped = await both.wrap(secret, context);
    const onlyNew = new LocalMasterKeys([NEW]);
    expect(await onlyNew.unwrap(rewrapped, 'new', context)).toEqual(secret);
    await expect(onlyNew.unwrap(inBackup, 'old', context)).rejects.toThrow('no key "old"');
    await expect(onlyNew.unwrap(inBackup, 'new', context)).rejects.toThrow();
    await expect(onlyNew.unwrap(rewrapped, 'new', { ...context, scope: 'bob' })).rejects.toThrow();
  });
});
