import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Half of the nonce chooses the key, the other half is the nonce of GCM. */
const HALF = 12;
const NONCE = 2 * HALF;
const TAG = 16;

/** What a sealed value has on top of its content. */
export const SEALED_OVERHEAD = NONCE + TAG;

/**
 * How many values are sealed under one derived key: far below 2^32, the bound of
 * GCM with random nonces.
 */
const MOST_USES = 2 ** 24;

/** Values of other processes, and of earlier ones, are under other derived keys. */
const MOST_DERIVED = 64;

/**
 * AES-256-GCM with nonces of 192 bits: XAES-256-GCM of C2SP. One key of GCM with
 * random nonces is safe for 2^32 values, which a busy scope writes within days;
 * here the first half of each nonce derives another key of GCM, so one key is
 * safe for 2^80 values and never has to be replaced for that reason.
 */
export class Xaes256Gcm {
  /** The subkey of CMAC, from which the derivation starts. */
  private readonly mask: Buffer;
  private readonly derived = new Map<string, Buffer>();
  private current: { half: Buffer; key: Buffer; uses: number } | undefined;

  constructor(private readonly key: Buffer) {
    this.mask = doubled(this.encrypt(Buffer.alloc(16)));
  }

  /** Nonce, content and tag. @param bound what the value can only be opened with */
  seal(content: Buffer, bound: Buffer): Buffer {
    const { half, key } = this.next();
    return sealed(key, half, randomBytes(HALF), content, bound);
  }

  /** With a given nonce, for published test vectors. */
  sealWith(nonce: Buffer, content: Buffer, bound: Buffer): Buffer {
    const half = nonce.subarray(0, HALF);
    return sealed(this.derive(half), half, nonce.subarray(HALF), content, bound);
  }

  /** Throws if it was sealed under another key, bound to something else, or changed since. */
  open(value: Buffer, bound: Buffer): Buffer {
    if (value.length < SEALED_OVERHEAD) throw new Error('The value is too short.');
    const key = this.keyOf(value.subarray(0, HALF));
    const nonce = value.subarray(HALF, NONCE);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG });
    decipher.setAAD(bound);
    decipher.setAuthTag(value.subarray(-TAG));
    return Buffer.concat([decipher.update(value.subarray(NONCE, -TAG)), decipher.final()]);
  }

  /** Derived once for many values: a derivation costs as much as sealing a value. */
  private next(): { half: Buffer; key: Buffer } {
    if (!this.current || this.current.uses >= MOST_USES) {
      const half = randomBytes(HALF);
      this.current = { half, key: this.keyOf(half), uses: 0 };
    }
    this.current.uses += 1;
    return this.current;
  }

  private keyOf(half: Buffer): Buffer {
    const name = half.toString('latin1');
    let key = this.derived.get(name);
    if (!key) {
      key = this.derive(half);
      if (this.derived.size >= MOST_DERIVED) this.derived.delete(this.derived.keys().next().value!);
      this.derived.set(name, key);
    }
    return key;
  }

  /** Two blocks of CMAC, which are the two halves of the key. */
  private derive(half: Buffer): Buffer {
    const blocks = Buffer.concat([
      Buffer.from([0, 1, 0x58, 0]),
      half,
      Buffer.from([0, 2, 0x58, 0]),
      half,
    ]);
    return this.encrypt(blocks.map((byte, at) => byte ^ this.mask[at % 16]!));
  }

  private encrypt(blocks: Uint8Array): Buffer {
    return createCipheriv('aes-256-ecb', this.key, null).setAutoPadding(false).update(blocks);
  }
}

function sealed(key: Buffer, half: Buffer, rest: Buffer, content: Buffer, bound: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, rest, { authTagLength: TAG });
  cipher.setAAD(bound);
  return Buffer.concat([half, rest, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

/** Multiplied by x in the field of CMAC. */
function doubled(block: Buffer): Buffer {
  const shifted = Buffer.from(
    block.map((byte, at) => ((byte << 1) | ((block[at + 1] ?? 0) >> 7)) & 0xff),
  );
  if (block[0]! & 0x80) shifted[15]! ^= 0x87;
  return shifted;
}
