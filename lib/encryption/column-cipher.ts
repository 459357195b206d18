import type { SealedColumn } from './columns.js';
import type { UnreadableRecordError } from './unreadable-record.error.js';

/**
 * How values of one scope are written to columns with users' data, and read from
 * them. The plain implementation writes them as they are; with the `encryption`
 * option they are sealed. Every statement that writes or reads such a column goes
 * through it, and what opens a value throws an UnreadableRecordError where it
 * cannot be read.
 */
export interface ColumnCipher {
  /** Whether what it writes is sealed. */
  readonly seals: boolean;

  /** As it is stored. */
  fingerprint(plain: Buffer): Buffer;
  /** Whether a stored fingerprint is this one. */
  isFingerprint(stored: Buffer, plain: Buffer): boolean;
  /** Why a stored fingerprint cannot be compared, and so the row not be used. */
  faultOf(stored: Buffer): UnreadableRecordError | undefined;

  /** For a bytea column that says in another column whether it is sealed. */
  bytes<Row>(content: Buffer, column: SealedColumn<Row>, row: Row): Buffer;
  openBytes<Row>(stored: Buffer, column: SealedColumn<Row>, row: Row): Buffer;
  /** For such a column where it says that it is not sealed. */
  acceptPlaintext(column: SealedColumn<never>): void;

  /** For a json column; jsonb would lose the mark of a sealed value. */
  json<Row>(text: string | null | undefined, column: SealedColumn<Row>, row: Row): string | null;
  openJson<Row>(stored: string | null, column: SealedColumn<Row>, row: Row): string | undefined;

  text<Row>(text: string | null | undefined, column: SealedColumn<Row>, row: Row): string | null;
  openText<Row>(stored: string | null, column: SealedColumn<Row>, row: Row): string | undefined;
}

/** The cipher of a scope, for those who know scopes only at run time. */
export type CipherOf = (scope: string) => ColumnCipher;

/** The ciphers of all scopes. */
export abstract class ColumnCiphers {
  /** For a scope that something is written for. A promise only where its data key has to be read first. */
  abstract of(scope: string): ColumnCipher | Promise<ColumnCipher>;

  /** The same, after its data key was read again: another process may have erased the scope. */
  abstract renewed(scope: string): Promise<ColumnCipher>;

  /** For rows of several scopes that are only read. */
  abstract readers(rows: readonly { scope: string }[]): Promise<CipherOf>;
}
