import type { ServerResponse } from 'node:http';
import type { Answer, ObservedAnswer, AnswerToSend } from '../answers/answer.js';
import { isClosed } from './client.js';
import { EarlyFinish } from './early-finish.js';
import type { HoldOptions } from './http-platform.js';
import {
  interceptResponse,
  ownView,
  type Interceptor,
  type OriginalMethods,
} from './intercepted-response.js';
import { OwedDrain } from './owed-drain.js';
import { restoreHead } from './raw-head.js';
import { copyHeaders, type Headers } from './response-headers.js';
import { writeAnswer } from './write-answer.js';
import { WrittenAnswer } from './written-answer.js';

/**
 * How long after the handler's end an answer may still come when its client has
 * left and a value or a stream was there to be sent. Nest renders JSON as usual
 * then, but silently drops streams, and no event tells the two apart. Late answers
 * come from outer interceptors that wait for something, such as a database, so this
 * is much longer than they take. Meanwhile only a retry is affected: it is told
 * that the first attempt is in progress.
 */
export const BROKEN_OFF_AFTER_MS = 5_000;

type Phase =
  /** Open: what is written is collected. */
  | 'holding'
  /** The framework's own `send()` has the answer: other writes are ignored. */
  | 'claimed'
  /** What was written is being recorded. */
  | 'settling'
  /** Released: every call passes through. */
  | 'open'
  /** Another answer was sent: the rest of the original is ignored. */
  | 'replaced';

/**
 * A Node response whose bytes are held. Compression and session middleware have
 * patched the response earlier, so what arrives here is the answer before they
 * change it, and what is released still passes through them.
 */
export class HeldResponse implements Interceptor {
  private phase: Phase = 'holding';
  private closed = false;
  /** A stream was to become the body of the closed response. */
  private piped = false;

  private readonly written: WrittenAnswer;
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
    this.written = new WrittenAnswer(raw);
    this.surroundings = copyHeaders(raw.getHeaders());
    this.finishListeners = raw.rawListeners('finish');
    this.original = interceptResponse(raw, this);

    if (isClosed(raw)) this.onClose();
    else raw.once('close', this.onClose);
    options.handlerEnd.wait(this.onHandlerEnd);
  }

  get isOpen(): boolean {
    return this.phase === 'open';
  }

  /**
   * True as soon as there is an answer; otherwise a later error would overwrite
   * it while it is held.
   */
  get headersSent(): boolean {
    if (this.hasLeft()) return ownView(this.raw, this.original, 'headersSent');
    return this.written.head !== undefined || this.phase === 'claimed';
  }

  get writableEnded(): boolean {
    if (this.hasLeft()) return ownView(this.raw, this.original, 'writableEnded');
    return this.written.complete || this.phase === 'claimed';
  }

  writeHead(args: unknown[]): unknown {
    const { raw, phase } = this;
    // Also for a replacement, which middleware may not have sent yet.
    if (phase === 'open' || (phase === 'replaced' && !this.headersSent)) {
      return this.original.writeHead.apply(raw, args);
    }
    if (phase === 'holding') this.written.beginWith(args);
    return raw;
  }

  flushHeaders(): void {
    if (this.phase === 'open') this.original.flushHeaders.call(this.raw);
    else if (this.phase === 'holding') this.written.begin();
  }

  write(args: unknown[]): boolean {
    if (this.phase === 'open') return this.original.write.apply(this.raw, args);
    if (!this.isBeingWritten()) return true;
    this.written.add(args);
    this.advance();
    // Before the handler's end no writer has to wait: the handler may be waiting for the writer,
    // and the held bytes are released only after the handler's end.
    if (!this.isSettling()) return true;
    this.owedDrain ??= new OwedDrain(this.raw);
    return false;
  }

  end(args: unknown[]): unknown {
    if (this.phase === 'open') return this.original.end.apply(this.raw, args);
    if (!this.isBeingWritten()) return this.raw;
    this.written.end(args);
    if (!this.handlerHasEnded) this.announceFinish();
    this.advance();
    return this.raw;
  }

  /**
   * The framework is about to send the answer through its own hooks. False if
   * there is an answer already.
   */
  claim(): boolean {
    if (this.phase !== 'holding' || this.written.head !== undefined) return false;
    this.phase = 'claimed';
    clearTimeout(this.brokenOffTimer);
    return true;
  }

  /** The claimed answer failed before it was observed: another one will follow. */
  unclaim(): void {
    this.phase = 'holding';
    this.brokenOffTimer = undefined;
    this.advance();
  }

  /** Reports a claimed answer, once the handler has ended. */
  record(observed: ObservedAnswer): Promise<AnswerToSend> {
    if (this.handlerHasEnded) return this.options.record(observed);
    this.announceFinish();
    return new Promise((resolve) =>
      this.options.handlerEnd.wait(() => resolve(this.options.record(observed))),
    );
  }

  /** Passes everything through from now on. */
  open(): void {
    this.phase = 'open';
  }

  private get handlerHasEnded(): boolean {
    return this.options.handlerEnd.isOver;
  }

  private hasLeft(): boolean {
    return this.phase === 'open' || this.phase === 'replaced';
  }

  private isBeingWritten(): boolean {
    return (this.phase === 'holding' || this.phase === 'settling') && !this.written.complete;
  }

  private isSettling(): boolean {
    return this.phase === 'settling';
  }

  private readonly onHandlerEnd = (): void => {
    this.earlyFinish?.stop();
    this.advance();
  };

  private readonly onClose = (): void => {
    this.closed = true;
    // One that is piped into it now lets go of it; one that comes later finds it closed.
    this.raw.once('unpipe', this.onPipe);
    this.raw.once('pipe', this.onPipe);
    this.advance();
  };

  private readonly onPipe = (): void => {
    this.piped = true;
    this.advance();
  };

  /** Deferred: most handlers have ended by then, and nobody waits for `finish`. */
  private announceFinish(): void {
    process.nextTick(() => {
      if (!this.handlerHasEnded) {
        this.earlyFinish ??= new EarlyFinish(this.raw, this.finishListeners);
      }
    });
  }

  /** Settles what was written as soon as there is nothing left to wait for. */
  private advance(): void {
    const { written } = this;
    if (this.phase !== 'holding' || !this.handlerHasEnded) return;
    if (written.complete || written.size > this.options.maxBytes) this.recordWritten();
    // Pipes detach from a closed response: a body that was begun will never end.
    else if (this.closed && written.head !== undefined) this.recordWritten();
    // Without either, nobody knows yet how it ends: an exception filter may take long, and so may
    // code that answers after its handler has returned.
    else if (this.closed && (this.options.handlerEnd.hasValue || this.piped)) {
      this.brokenOffTimer ??= setTimeout(() => {
        if (this.phase === 'holding') this.recordWritten();
      }, this.brokenOffAfterMs);
    }
  }

  private recordWritten(): void {
    this.phase = 'settling';
    clearTimeout(this.brokenOffTimer);
    const observed = this.written.observe(this.options.maxBytes);
    this.options
      .record(observed)
      .then((toSend) => {
        if (toSend.kind === 'replace') this.replace(toSend.answer);
        else this.release(toSend.headers, observed.body);
      })
      // A client that waits for ever cannot retry: close the connection instead.
      .catch((error: Error) => this.raw.destroy(error));
  }

  private release(ourHeaders: Record<string, string>, body: Buffer | undefined): void {
    const { raw, original } = this;
    this.phase = 'open';
    // Changes after the head was sent must not show in it.
    restoreHead(raw, this.written.head!);
    for (const name in ourHeaders) raw.setHeader(name, ourHeaders[name]!);

    const chunks = this.written.take();
    if (body === undefined) this.flush(chunks);
    else if (body.length > 0) original.end.call(raw, body);
    else original.end.call(raw);
  }

  /** Releases a body that was not kept, and the rest of it as it comes. */
  private flush(chunks: Buffer[]): void {
    if (this.closed) return;
    const { raw, original } = this;
    let blocked = false;
    for (const chunk of chunks) blocked = !original.write.call(raw, chunk);
    if (this.written.complete) original.end.call(raw);
    else this.owedDrain?.pay(blocked);
  }

  private replace(answer: Answer): void {
    this.written.take();
    this.phase = 'open';
    writeAnswer(this.raw, answer, this.surroundings);
    this.phase = 'replaced';
    this.owedDrain?.pay(false);
  }
}
