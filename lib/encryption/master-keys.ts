import { hkdfSync } from 'node:crypto';
import { Xaes256Gcm } from './xaes-256-gcm.js';

/** What a wrapped data key is for. A key management service can be given it as the context. */
export interface DataKeyContext {
  scope: string;
  dataKeyId: string;
}

/**
 * Wraps and unwraps data keys: 32 random bytes, one per scope. Implement it to ask
 * a key management service, so that the master key never leaves it. It is asked
 * once for each scope and process, not for each request.
 */
export interface MasterKeyProvider {
  /** The key that wraps new data keys. Changing it is a rotation: see `reencrypt()`. */
  readonly currentKeyId: string;
  /** Wraps a data key with the current key. */
  wrap(dataKey: Buffer, context: DataKeyContext): Promise<Uint8Array>;
  /** The opposite, also with keys that are no longer the current one. */
  unwrap(wrapped: Buffer, keyId: string, context: DataKeyContext): Promise<Uint8Array>;
}

/** A master key of the `encryption` option. */
export interface MasterKey {
  /** Stored beside each data key that it wraps; at most 100 characters. */
  id: string;
  /** At least 32 bytes from a random source, as bytes or as text. Keep it out of the code. */
  secret: string | Uint8Array;
}

/** Master keys that the process itself has: the first one wraps, the others only unwrap. */
export class LocalMasterKeys implements MasterKeyProvider {
  readonly currentKeyId: string;
  private readonly keys: ReadonlyMap<string, Xaes256Gcm>;

  constructor(keys: readonly MasterKey[]) {
    this.currentKeyId = keys[0]!.id;
    this.keys = new Map(keys.map(({ id, secret }) => [id, new Xaes256Gcm(keyFrom(secret))]));
  }

  async wrap(dataKey: Buffer, context: DataKeyContext): Promise<Buffer> {
    return this.keys.get(this.currentKeyId)!.seal(dataKey, boundTo(context));
  }

  async unwrap(wrapped: Buffer, keyId: string, context: DataKeyContext): Promise<Buffer> {
    const key = this.keys.get(keyId);
    if (!key) throw new Error(`encryption.keys has no key ${JSON.stringify(keyId)}.`);
    return key.open(wrapped, boundTo(context));
  }
}

/** The secret may have any length; the cipher needs 32 bytes. */
function keyFrom(secret: string | Uint8Array): Buffer {
  const info = 'nestjs-atomic-idempotency master key';
  return Buffer.from(hkdfSync('sha256', Buffer.from(secret), '', info, 32));
}

/** A wrapped data key that is copied to another scope does not open. */
function boundTo({ scope, dataKeyId }: DataKeyContext): Buffer {
  return Buffer.from(`${dataKeyId} ${scope}`);
}
