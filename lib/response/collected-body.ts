/** The bytes of an answer as they come in. */
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

  /** Hands the chunks over and forgets them. */
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
  // Throws the same TypeError as a response does for anything but a string.
  return Buffer.from(
    chunk as string,
    typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8',
  );
}
