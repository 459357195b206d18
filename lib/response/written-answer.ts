import type { ServerResponse } from 'node:http';
import type { ObservedAnswer } from '../answers/answer.js';
import { CollectedBody, toBuffer } from './collected-body.js';
import { applyWriteHead, assertValid, readHead, type Head } from './raw-head.js';
import { hasNoContent } from './response-headers.js';

/** What an application has written to a held Node response so far. */
export class WrittenAnswer {
  /** Set by the first write: from then on, status and headers count as sent. */
  head: Head | undefined;
  complete = false;
  private readonly body = new CollectedBody();

  constructor(private readonly raw: ServerResponse) {}

  get size(): number {
    return this.body.size;
  }

  begin(): void {
    if (this.head) return;
    const head = readHead(this.raw);
    assertValid(head);
    this.head = head;
  }

  /** The arguments of `writeHead()`. */
  beginWith(args: unknown[]): void {
    if (this.head) return;
    applyWriteHead(this.raw, args);
    this.begin();
  }

  /** The arguments of `write()`. */
  add([chunk, second, third]: unknown[]): void {
    // A copy: the writer may reuse its buffer once it considers it written.
    const bytes = Buffer.from(toBuffer(chunk, second));
    this.begin();
    this.body.push(bytes);
    const written = typeof second === 'function' ? second : third;
    if (typeof written === 'function') process.nextTick(written as () => void);
  }

  /** The arguments of `end()`. */
  end(args: unknown[]): void {
    const [chunk, encoding] = args;
    const hasChunk = chunk !== undefined && chunk !== null && typeof chunk !== 'function';
    const bytes = hasChunk ? toBuffer(chunk, encoding) : undefined;
    this.begin();
    if (bytes) this.body.push(bytes);
    const finished = args.find((arg) => typeof arg === 'function');
    if (finished) this.raw.once('finish', finished as () => void);
    this.complete = true;
  }

  /** Without its body if that is too large or incomplete. */
  observe(maxBytes: number): ObservedAnswer {
    const { status, headers } = (this.head ??= readHead(this.raw));
    return { status, headers, body: this.wholeBody(status, maxBytes) };
  }

  take(): Buffer[] {
    return this.body.take();
  }

  private wholeBody(status: number, maxBytes: number): Buffer | undefined {
    if (!this.complete) return undefined;
    if (hasNoContent(status)) return Buffer.alloc(0);
    return this.body.size > maxBytes ? undefined : this.body.whole();
  }
}
