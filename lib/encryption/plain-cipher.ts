import { whereOf, type SealedColumn } from './columns.js';
import { ColumnCiphers, type CipherOf, type ColumnCipher } from './column-cipher.js';
import { PLAIN_FINGERPRINT } from './data-key.js';
import { fromSealedJson, fromSealedText, withoutMark } from './marks.js';
import { UnreadableRecordError } from './unreadable-record.error.js';

/** Without the `encryption` option: values are stored as they are, and sealed ones are refused. */
export const PLAIN: ColumnCipher = {
  seals: false,

  fingerprint: (plain) => plain,
  isFingerprint: (stored, plain) => stored.equals(plain),
  faultOf: (stored) =>
    stored.length === PLAIN_FINGERPRINT
      ? undefined
      : new UnreadableRecordError('not_configured', 'idempotency_keys.fingerprint'),

  bytes: (content) => content,
  openBytes: (_stored, column) => refuse(column),
  acceptPlaintext: () => undefined,

  json: (text) => text ?? null,
  openJson: (stored, column) => {
    if (stored === null) return undefined;
    return fromSealedJson(stored) ? refuse(column) : stored;
  },

  text: (text) => (text === null || text === undefined ? null : withoutMark(text)),
  openText: (stored, column) => {
    if (stored === null) return undefined;
    return fromSealedText(stored) ? refuse(column) : stored;
  },
};

function refuse(column: SealedColumn<never>): never {
  throw new UnreadableRecordError('not_configured', whereOf(column));
}

const ALWAYS_PLAIN: CipherOf = () => PLAIN;

export class PlainCiphers extends ColumnCiphers {
  override of(): ColumnCipher {
    return PLAIN;
  }

  override async renewed(): Promise<ColumnCipher> {
    return PLAIN;
  }

  override async readers(): Promise<CipherOf> {
    return ALWAYS_PLAIN;
  }
}
