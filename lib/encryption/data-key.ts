import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { Xaes256Gcm } from './xaes-256-gcm.js';

const BYTES = 32;

/** Begins every sealed value and fingerprint: another layout gets another number. */
const VERSION = 1;
/** The version and the id of the data key. */
const HEAD = 17;

/** What a stored fingerprint has as its length: plain, and under a data key. */
export const PLAIN_FINGERPRINT = 32;
const SEALED_FINGERPRINT = HEAD + 32;

/** The random key of one scope, and what is derived from it. */
export class DataKey {
  private readonly values: Xaes256Gcm;
  private readonly fingerprints: Buffer;
  private readonly head: Buffer;

  constructor(
    /** A UUID. */
    readonly id: string,
    secret: Buffer,
  ) {
    this.values = new Xaes256Gcm(derived(secret, 'values'));
    this.fingerprints = derived(secret, 'fingerprints');
    this.head = Buffer.concat([Buffer.from([VERSION]), Buffer.from(id.replaceAll('-', ''), 'hex')]);
  }

  static randomSecret(): Buffer {
    return randomBytes(BYTES);
  }

  static isSecret(secret: unknown): secret is Buffer {
    return secret instanceof Uint8Array && secret.length === BYTES;
  }

  /** @param bound what the value can only be opened with */
  seal(content: Buffer, bound: Buffer): Buffer {
    return Buffer.concat([this.head, this.values.seal(content, bound)]);
  }

  /** Whether a value or a fingerprint was made with this key. */
  made(value: Buffer): boolean {
    return value.subarray(0, HEAD).equals(this.head);
  }

  /** Throws if the value was changed, or belongs elsewhere. */
  open(value: Buffer, bound: Buffer): Buffer {
    return this.values.open(value.subarray(HEAD), bound);
  }

  /**
   * Keyed, because the hash of a small body can be guessed. Of the hash and not of
   * the request itself, so that one that was stored before can be sealed later.
   */
  fingerprint(plain: Buffer): Buffer {
    return Buffer.concat([
      this.head,
      createHmac('sha256', this.fingerprints).update(plain).digest(),
    ]);
  }
}

export function isSealedFingerprint(stored: Buffer): boolean {
  return stored.length === SEALED_FINGERPRINT && stored[0] === VERSION;
}

function derived(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `nestjs-atomic-idempotency ${purpose}`, BYTES));
}
