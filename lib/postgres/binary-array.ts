// An array as a parameter in PostgreSQL's binary format. As text, each value would
// be escaped here and read character by character there, and bytes would be twice
// as long. The driver sends a Buffer as it is.

/** How values of a type are written. */
interface Format {
  /** PostgreSQL's number for the type. */
  oid: number;
  /** In bytes. */
  sizeOf(value: unknown): number;
  write(target: Buffer, value: unknown, offset: number, size: number): void;
}

const FORMATS: Readonly<Record<string, Format>> = {
  text: {
    oid: 25,
    sizeOf: (value) => sizeOfText(value as string),
    write: (target, value, offset, size) => writeText(target, value as string, offset, size),
  },
  bytea: {
    oid: 17,
    sizeOf: (value) => (value as Buffer).length,
    write: (target, value, offset) => target.set(value as Buffer, offset),
  },
  uuid: {
    oid: 2950,
    sizeOf: () => 16,
    write: (target, value, offset) => writeUuid(target, value as string, offset),
  },
  int: {
    oid: 23,
    sizeOf: () => 4,
    write: (target, value, offset) => target.writeInt32BE(value as number, offset),
  },
  /** A string, as the driver gives it. */
  bigint: {
    oid: 20,
    sizeOf: () => 8,
    write: (target, value, offset) => writeBigint(target, value as string, offset),
  },
  float8: {
    oid: 701,
    sizeOf: () => 8,
    write: (target, value, offset) => target.writeDoubleBE(value as number, offset),
  },
};

/** The number of dimensions, whether there are nulls, the type, the length and the first index. */
const HEADER = 20;

/** In place of a size. */
const NULL = -1;

/** @param type of its values; null may be among them */
export function binaryArray(type: string, values: readonly unknown[]): Buffer {
  const format = FORMATS[type];
  if (!format) throw new Error(`There is no binary format for ${type}.`);
  const sizes: number[] = [];
  let length = HEADER + 4 * values.length;
  let nulls = 0;
  for (const value of values) {
    const size = value === null ? NULL : format.sizeOf(value);
    sizes.push(size);
    if (size === NULL) nulls = 1;
    else length += size;
  }
  const target = Buffer.allocUnsafe(length);
  target.writeInt32BE(1, 0);
  target.writeInt32BE(nulls, 4);
  target.writeInt32BE(format.oid, 8);
  target.writeInt32BE(values.length, 12);
  target.writeInt32BE(1, 16);
  let offset = HEADER;
  for (let index = 0; index < values.length; index++) {
    const size = sizes[index]!;
    offset = target.writeInt32BE(size, offset);
    if (size === NULL) continue;
    format.write(target, values[index], offset, size);
    offset += size;
  }
  return target;
}

// Most values are short. A loop is faster for them than a call into Node's own code.

/** Beyond this length Node's own code is faster. */
const SHORT = 24;

const LAST_ASCII = 0x7f;

function sizeOfText(text: string): number {
  if (text.length > SHORT) return Buffer.byteLength(text);
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > LAST_ASCII) return Buffer.byteLength(text);
  }
  return text.length;
}

function writeText(target: Buffer, text: string, offset: number, size: number): void {
  // As many bytes as characters: all of them are ASCII.
  if (text.length > SHORT || size !== text.length) {
    target.write(text, offset);
    return;
  }
  for (let index = 0; index < text.length; index++) target[offset + index] = text.charCodeAt(index);
}

/** So few digits are a safe integer. */
const SAFE_DIGITS = 15;

function writeBigint(target: Buffer, digits: string, offset: number): void {
  const value = Number(digits);
  if (digits.length > SAFE_DIGITS || value < 0) {
    target.writeBigInt64BE(BigInt(digits), offset);
    return;
  }
  target.writeUInt32BE(Math.floor(value / 2 ** 32), offset);
  target.writeUInt32BE(value % 2 ** 32, offset + 4);
}

/** The value of each hexadecimal digit, by its character code. */
const DIGITS = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGITS[digit.charCodeAt(0)] = value;
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}

const HYPHEN = '-'.charCodeAt(0);

function writeUuid(target: Buffer, uuid: string, offset: number): void {
  let at = offset;
  for (let index = 0; index < uuid.length; index += 2) {
    if (uuid.charCodeAt(index) === HYPHEN) index += 1;
    const high = DIGITS[uuid.charCodeAt(index)]!;
    target[at++] = (high << 4) | DIGITS[uuid.charCodeAt(index + 1)]!;
  }
}
