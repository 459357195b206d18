import { Readable } from 'node:stream';
import { toBuffer } from './collected-body.js';

/**
 * The part of a source that was read, and then the rest of it. Not a generator: a
 * generator that waits for its source cannot be stopped until the source
 * continues.
 */
export class ResumedStream extends Readable {
  constructor(
    private readonly source: Readable,
    private readonly rest: AsyncIterator<unknown>,
    private readonly chunks: Buffer[],
    private next: Promise<IteratorResult<unknown>> | undefined,
  ) {
    super();
    // Possibly nobody reads up to the error.
    next?.catch(() => undefined);
  }

  override _read(): void {
    const chunk = this.chunks.shift();
    if (chunk) {
      this.push(chunk);
      return;
    }
    const next = this.next ?? this.rest.next();
    this.next = undefined;
    next.then(
      ({ done, value }) => this.push(done ? null : toBuffer(value)),
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.source.destroy();
    callback(error);
  }
}
