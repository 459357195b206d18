import { StoreUnavailableError } from '../postgres/store-unavailable.error.js';

/** Why a stored value cannot be read. */
export type UnreadableReason =
  /** It is sealed, and this process has no `encryption`. */
  | 'not_configured'
  /** It was sealed with a data key that the scope no longer has: the scope was erased. */
  | 'erased'
  /** The master key could not unwrap the data key of its scope. */
  | 'master_key'
  /** It was changed, or copied from another row, column or scope. */
  | 'damaged'
  /** It is not sealed, and no plaintext is accepted any more. */
  | 'plaintext';

const WORDS: Record<UnreadableReason, string> = {
  not_configured:
    'is sealed, and this process has no encryption. Give forRoot() the encryption option of the processes that wrote it',
  erased: 'was sealed with a data key that its scope no longer has, because the scope was erased',
  master_key:
    'is sealed with a data key that the master key could not unwrap. Check encryption.keys, or the key management service that encryption.provider asks',
  damaged: 'was changed after it was sealed, or was copied from somewhere else',
  plaintext:
    'is not sealed, and plaintext is not accepted any more. Set encryption.plaintextUntil, and run IdempotencyOperator.reencrypt() before that date',
};

/**
 * A stored value that cannot be read. Fail closed: what it belongs to is refused,
 * and never run again. Its message names the column and the cure, and nothing of
 * the value.
 */
export class UnreadableRecordError extends StoreUnavailableError {
  constructor(
    readonly reason: UnreadableReason,
    /** The table and the column. */
    readonly where: string,
  ) {
    super(`A value of ${where} ${WORDS[reason]}.`);
    this.name = 'UnreadableRecordError';
  }
}
