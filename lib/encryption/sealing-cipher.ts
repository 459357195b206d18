import type { ColumnCipher } from './column-cipher.js';
import { boundTo, whereOf, type SealedColumn } from './columns.js';
import { isSealedFingerprint, PLAIN_FINGERPRINT, type DataKey } from './data-key.js';
import { asSealedJson, asSealedText, fromSealedJson, fromSealedText } from './marks.js';
import { PLAIN } from './plain-cipher.js';
import { UnreadableRecordError, type UnreadableReason } from './unreadable-record.error.js';

/** What holds for all scopes. */
export interface SealingRules {
  /** False: sealed values are read, and plain ones are written. */
  readonly seals: boolean;
  /** Until then plaintext is accepted, in milliseconds since 1970. */
  readonly plaintextUntil: number;
}

/** Seals values with the data key of their scope. */
export class SealingCipher implements ColumnCipher {
  readonly seals: boolean;

  /** @param key undefined if the scope has none: nothing can be sealed, and nothing sealed be read */
  constructor(
    private readonly scope: string,
    private readonly key: DataKey | undefined,
    private readonly rules: SealingRules,
    /** Why there is no data key. */
    private readonly absence: 'erased' | 'master_key' = 'erased',
  ) {
    this.seals = rules.seals;
  }

  fingerprint(plain: Buffer): Buffer {
    return this.seals ? this.key!.fingerprint(plain) : plain;
  }

  isFingerprint(stored: Buffer, plain: Buffer): boolean {
    return stored.equals(isSealedFingerprint(stored) ? this.key!.fingerprint(plain) : plain);
  }

  faultOf(stored: Buffer): UnreadableRecordError | undefined {
    const where = 'idempotency_keys.fingerprint';
    if (isSealedFingerprint(stored)) {
      return this.key?.made(stored) ? undefined : new UnreadableRecordError(this.absence, where);
    }
    if (stored.length !== PLAIN_FINGERPRINT) return new UnreadableRecordError('damaged', where);
    return this.acceptsPlaintext ? undefined : new UnreadableRecordError('plaintext', where);
  }

  bytes<Row>(content: Buffer, column: SealedColumn<Row>, row: Row): Buffer {
    return this.seals ? this.key!.seal(content, boundTo(this.scope, column, row)) : content;
  }

  openBytes<Row>(stored: Buffer, column: SealedColumn<Row>, row: Row): Buffer {
    if (!this.key?.made(stored)) return refuse(this.absence, column);
    try {
      return this.key.open(stored, boundTo(this.scope, column, row));
    } catch {
      return refuse('damaged', column);
    }
  }

  acceptPlaintext(column: SealedColumn<never>): void {
    if (!this.acceptsPlaintext) refuse('plaintext', column);
  }

  json<Row>(text: string | null | undefined, column: SealedColumn<Row>, row: Row): string | null {
    if (text === null || text === undefined || !this.seals) return PLAIN.json(text, column, row);
    return asSealedJson(this.bytes(Buffer.from(text), column, row));
  }

  openJson<Row>(stored: string | null, column: SealedColumn<Row>, row: Row): string | undefined {
    if (stored === null) return undefined;
    return this.open(stored, fromSealedJson(stored), column, row);
  }

  text<Row>(text: string | null | undefined, column: SealedColumn<Row>, row: Row): string | null {
    if (text === null || text === undefined || !this.seals) return PLAIN.text(text, column, row);
    return asSealedText(this.bytes(Buffer.from(text), column, row));
  }

  openText<Row>(stored: string | null, column: SealedColumn<Row>, row: Row): string | undefined {
    if (stored === null) return undefined;
    return this.open(stored, fromSealedText(stored), column, row);
  }

  private open<Row>(
    stored: string,
    sealed: Buffer | undefined,
    column: SealedColumn<Row>,
    row: Row,
  ): string {
    if (sealed) return this.openBytes(sealed, column, row).toString();
    this.acceptPlaintext(column);
    return stored;
  }

  private get acceptsPlaintext(): boolean {
    return Date.now() < this.rules.plaintextUntil;
  }
}

function refuse(reason: UnreadableReason, column: SealedColumn<never>): never {
  throw new UnreadableRecordError(reason, whereOf(column));
}
