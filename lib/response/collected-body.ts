/** Collects the bytes of an answer. */
export class CollectedBody {
  private chunks: Buffer[] = [];
  size = 0;

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
  }

  /** The usual answer is one chunk, which is not copied. */
  whole(): Buffer {
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks, this.size);
  }

  /** Returns the chunks and removes them. */
  take(): Buffer[] {
    const { chunks } = this;
    this.chunks = [];
    return chunks;
  }
}

export function toBuffer(chunk: unknown, encoding?: unknown): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk;
  if (chunk instanceof Uint8Array) {
    return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  // Throws the same TypeError as a response for anything but a string or bytes.
  return Buffer.from(
    chunk as string,
    typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8',
  );
}
