import type { ServerResponse } from 'node:http';
import type { Answer, ObservedAnswer, Verdict } from './answer.js';
import { CollectedBody, toBuffer } from './collected-body.js';
import { EarlyFinish } from './early-finish.js';
import type { HoldOptions } from './http-platform.js';
import {
  interceptResponse,
  ownView,
  type Interceptor,
  type OriginalMethods,
} from './intercepted-response.js';
import { OwedDrain } from './owed-drain.js';
import { applyWriteHead, readHead, type Head } from './raw-head.js';
import { copyHeaders, hasNoContent, resetHeaders, type Headers } from './response-headers.js';
import { writeAnswer } from './write-answer.js';

/**
 * How long after the handler's end an answer may still come when its client has
 * left. Nest renders JSON and errors for it as usual, but gives up streams
 * without a word, and no event tells the two apart. Late answers come from outer
 * interceptors and exception filters that wait for something, a database for
 * example, so this is far longer than they take. Nobody waits for it meanwhile
 * but a retry, which is told that the first attempt is still in progress.
 */
export const BROKEN_OFF_AFTER_MS = 5_000;

type Phase =
  /** Nothing is decided: what is written is collected. */
  | 'holding'
  /** The framework's own `send()` has the answer: writes by others are ignored. */
  | 'claimed'
  /** What was written is being recorded. */
  | 'settling'
  /** The answer may leave: every call goes through. */
  | 'open'
  /** Another answer has left: the rest of the original is ignored. */
  | 'replaced';

/**
 * A node response whose bytes are kept back. Compression and session middleware
 * patched the response before this does, so what arrives here is the answer
 * before they change it, and what is let go still passes through them.
 */
export class HeldResponse implements Interceptor {
  handlerHasEnded = false;
  private phase: Phase = 'holding';
  private closed: boolean;
  private head: Head | undefined;
  private complete = false;
  private readonly body = new CollectedBody();

  private readonly original: OriginalMethods;
  private readonly surroundings: Headers;
  private readonly finishListeners: readonly unknown[];
  private earlyFinish: EarlyFinish | undefined;
  private owedDrain: OwedDrain | undefined;
  private brokenOffTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly raw: ServerResponse,
    private readonly options: HoldOptions,
    private readonly brokenOffAfterMs: number,
  ) {
    this.surroundings = copyHeaders(raw.getHeaders());
    this.finishListeners = raw.rawListeners('finish');
    this.original = interceptResponse(raw, this);

    this.closed = raw.destroyed;
    if (!this.closed) raw.once('close', this.onClose);
    void options.handlerEnded.then(this.onHandlerEnd);
  }

  /** True as soon as an answer was given, or a later error would overwrite it while it waits. */
  get headersSent(): boolean {
    if (this.hasLeft()) return ownView(this.raw, 'headersSent');
    return this.head !== undefined || this.phase === 'claimed';
  }

  get writableEnded(): boolean {
    if (this.hasLeft()) return ownView(this.raw, 'writableEnded');
    return this.complete || this.phase === 'claimed';
  }

  writeHead(args: unknown[]): unknown {
    const { raw, phase } = this;
    // Of a replacement too, which middleware may not have sent yet.
    if (phase === 'open' || (phase === 'replaced' && !this.headersSent)) {
      return this.original.writeHead.apply(raw, args);
    }
    if (phase === 'holding' && this.head === undefined) {
      applyWriteHead(raw, args);
      this.head = readHead(raw);
    }
    return raw;
  }

  flushHeaders(): void {
    if (this.phase === 'open') this.original.flushHeaders.call(this.raw);
    else if (this.phase === 'holding') this.head ??= readHead(this.raw);
  }

  write(args: unknown[]): boolean {
    if (this.phase === 'open') return this.original.write.apply(this.raw, args);
    if (!this.isBeingWritten()) return true;

    const [chunk, second, third] = args;
    // A copy: the writer may reuse its buffer as soon as it believes it written.
    const bytes = Buffer.from(toBuffer(chunk, second));
    this.head ??= readHead(this.raw);
    this.body.push(bytes);
    const written = typeof second === 'function' ? second : third;
    if (typeof written === 'function') process.nextTick(written as () => void);

    this.advance();
    // Before the handler's end no writer has to wait: the handler may be waiting
    // for it, and room is made only after the handler's end.
    if (!this.isSettling()) return true;
    this.owedDrain ??= new OwedDrain(this.raw);
    return false;
  }

  end(args: unknown[]): unknown {
    const { raw } = this;
    if (this.phase === 'open') return this.original.end.apply(raw, args);
    if (!this.isBeingWritten()) return raw;

    const [chunk, encoding] = args;
    const hasChunk = chunk !== undefined && chunk !== null && typeof chunk !== 'function';
    const bytes = hasChunk ? toBuffer(chunk, encoding) : undefined;
    this.head ??= readHead(raw);
    if (bytes) this.body.push(bytes);
    const finished = args.find((arg) => typeof arg === 'function');
    if (finished) raw.once('finish', finished as () => void);
    this.complete = true;
    if (!this.handlerHasEnded) this.announceFinish();
    this.advance();
    return raw;
  }

  /**
   * The framework is about to send the answer through its own hooks. False if
   * that comes too late, because an answer was given already.
   */
  claim(): boolean {
    if (this.phase !== 'holding' || this.head !== undefined) return false;
    this.phase = 'claimed';
    clearTimeout(this.brokenOffTimer);
    return true;
  }

  /** The claimed answer failed before any of it was observed: another one will come. */
  unclaim(): void {
    this.phase = 'holding';
    this.brokenOffTimer = undefined;
    this.advance();
  }

  /** Reports a claimed answer, once the handler has ended. */
  settle(observed: ObservedAnswer): Promise<Verdict> {
    if (this.handlerHasEnded) return this.options.settle(observed);
    this.announceFinish();
    return this.options.handlerEnded.then(() => this.options.settle(observed));
  }

  /** Lets everything through from now on. */
  open(): void {
    this.phase = 'open';
  }

  get isOpen(): boolean {
    return this.phase === 'open';
  }

  private hasLeft(): boolean {
    return this.phase === 'open' || this.phase === 'replaced';
  }

  private isBeingWritten(): boolean {
    return (this.phase === 'holding' || this.phase === 'settling') && !this.complete;
  }

  private isSettling(): boolean {
    return this.phase === 'settling';
  }

  private readonly onHandlerEnd = (): void => {
    this.handlerHasEnded = true;
    this.earlyFinish?.stop();
    this.advance();
  };

  private readonly onClose = (): void => {
    this.closed = true;
    this.advance();
  };

  private readonly onBrokenOff = (): void => {
    if (this.phase === 'holding') this.settleWritten();
  };

  /** Settles what was written as soon as there is nothing left to wait for. */
  private advance(): void {
    if (this.phase !== 'holding' || !this.handlerHasEnded) return;
    if (this.complete || this.body.size > this.options.maxBytes) this.settleWritten();
    // Pipes let go of a closed response: what was begun will not be ended.
    else if (this.closed && this.head !== undefined) this.settleWritten();
    else if (this.closed) {
      this.brokenOffTimer ??= setTimeout(this.onBrokenOff, this.brokenOffAfterMs);
    }
  }

  private settleWritten(): void {
    this.phase = 'settling';
    clearTimeout(this.brokenOffTimer);
    const head = (this.head ??= readHead(this.raw));
    const body = this.wholeBody(head.status);
    this.options
      .settle({ status: head.status, headers: head.headers, body })
      .then((verdict) => this.carryOut(verdict, head, body))
      // A client that waits for ever cannot retry: rather cut the connection.
      .catch((error: Error) => this.raw.destroy(error));
  }

  /** Undefined if the body is too large, or not all there. */
  private wholeBody(status: number): Buffer | undefined {
    if (!this.complete) return undefined;
    if (hasNoContent(status)) return Buffer.alloc(0);
    return this.body.size > this.options.maxBytes ? undefined : this.body.whole();
  }

  private carryOut(verdict: Verdict, head: Head, body: Buffer | undefined): void {
    if (verdict.kind === 'replace') return this.replace(verdict.answer);
    const { raw, original } = this;
    this.phase = 'open';
    raw.statusCode = head.status;
    if (raw.statusMessage !== head.message) raw.statusMessage = head.message!;
    resetHeaders(raw, head.headers);
    for (const name in verdict.headers) raw.setHeader(name, verdict.headers[name]!);

    if (body === undefined) this.flush();
    else if (body.length > 0) original.end.call(raw, body);
    else original.end.call(raw);
    this.body.take();
  }

  /** Lets go of a body that was not kept, and of the rest of it as it comes. */
  private flush(): void {
    const { raw, original } = this;
    const chunks = this.body.take();
    if (this.closed) return;
    let blocked = false;
    for (const chunk of chunks) blocked = !original.write.call(raw, chunk);
    if (this.complete) original.end.call(raw);
    else this.owedDrain?.pay(blocked);
  }

  private replace(answer: Answer): void {
    this.phase = 'open';
    this.body.take();
    writeAnswer(this.raw, answer, this.surroundings);
    this.phase = 'replaced';
    this.owedDrain?.pay(false);
  }

  private announceFinish(): void {
    this.earlyFinish ??= new EarlyFinish(this.raw, this.finishListeners);
  }
}
