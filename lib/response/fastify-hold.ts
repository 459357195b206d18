import { validateHeaderValue } from 'node:http';
import type { Readable } from 'node:stream';
import type { Answer, ObservedAnswer, AnswerToSend } from '../answers/answer.js';
import { toBuffer } from './collected-body.js';
import type { FastifyReply, Next } from './fastify-shapes.js';
import { HeldResponse } from './held-response.js';
import type { HoldOptions } from './http-platform.js';
import { ReplyHeaders } from './reply-headers.js';
import {
  copyHeaders,
  hasNoContent,
  headersOfAnotherAnswer,
  resetHeaders,
  type Headers,
} from './response-headers.js';
import { readStreamedBody, toReadable } from './streamed-body.js';

/** An observed answer, with the payload that Fastify sends for it. */
interface Observation extends ObservedAnswer {
  payload: unknown;
}

/**
 * An answer of Fastify passes its `onSend` hooks before compression, so that is
 * where it is observed. What a handler writes to the raw response, with or
 * without `hijack()`, does not pass them: `HeldResponse` sees it.
 */
export class FastifyHold {
  private readonly held: HeldResponse;
  private readonly headers: ReplyHeaders;
  private readonly surroundings: Headers;
  private failed = false;

  constructor(
    private readonly reply: FastifyReply,
    private readonly options: HoldOptions,
    brokenOffAfterMs: number,
  ) {
    this.headers = new ReplyHeaders(reply);
    this.surroundings = copyHeaders(reply.getHeaders());
    this.held = new HeldResponse(reply.raw, options, brokenOffAfterMs);
  }

  onSend(payload: unknown, proceed: Next): void {
    if (this.held.claim()) this.answer(payload, proceed);
    // A second answer is ignored, unless sending the first one failed.
    else if (this.failed) proceed();
    // What was written by hand stands, and nobody else would end it. Fastify does the same.
    else if (!this.held.isOpen && !this.reply.raw.writableEnded) this.reply.raw.end();
  }

  /** A later hook, or the released stream, failed: the client gets the error. */
  onError(): void {
    this.failed = this.held.isOpen;
  }

  private answer(sent: unknown, proceed: Next): void {
    const settle = (observation: Observation): void => {
      void this.held.record(observation).then((toSend) => {
        // Without an await in between: a later error could change the reply. And an error thrown
        // here would be lost.
        try {
          proceed(null, this.release(observation, toSend));
        } catch (error) {
          proceed(error as Error);
        }
      });
    };
    const fail = (error: unknown): void => {
      // The application's error handling answers it.
      this.held.unclaim();
      proceed(error as Error);
    };
    let observed: Observation | Promise<Observation>;
    try {
      observed = this.observe(sent);
    } catch (error) {
      return fail(error);
    }
    if (observed instanceof Promise) observed.then(settle, fail);
    else settle(observed);
  }

  /** The payload to continue with. */
  private release({ status, headers, payload }: Observation, toSend: AnswerToSend): unknown {
    this.held.open();
    if (toSend.kind === 'replace') return this.replace(payload, toSend.answer);
    // A later error may have changed the reply while the answer was waiting.
    this.reply.raw.statusCode = status;
    resetHeaders(this.headers, headers);
    for (const name in toSend.headers) this.headers.setHeader(name, toSend.headers[name]!);
    return payload;
  }

  private observe(sent: unknown): Observation | Promise<Observation> {
    const payload = isWebResponse(sent) ? this.unwrap(sent) : sent;
    const status = this.reply.raw.statusCode;
    const headers = this.validHeaders();
    if (payload === undefined || payload === null) {
      return { status, headers, body: Buffer.alloc(0), payload };
    }
    const stream = toReadable(payload);
    if (hasNoContent(status)) {
      // Fastify removes the body and these headers, but only when it writes.
      delete headers['content-type'];
      delete headers['content-length'];
      stream?.destroy();
      return { status, headers, body: Buffer.alloc(0), payload: null };
    }
    if (stream) return this.observeStream(status, headers, stream);
    const body = this.withinLimit(toBuffer(payload));
    return { status, headers, body, payload };
  }

  private async observeStream(
    status: number,
    headers: Headers,
    stream: Readable,
  ): Promise<Observation> {
    const read = await readStreamedBody(stream, this.reply.raw, this.options);
    switch (read.kind) {
      case 'whole':
        return { status, headers, body: this.withinLimit(read.body), payload: read.body };
      case 'partial':
        return { status, headers, body: undefined, payload: read.stream };
      case 'broken off':
        return { status, headers, body: undefined, payload: '' };
    }
  }

  private withinLimit(body: Buffer): Buffer | undefined {
    return body.length > this.options.maxBytes ? undefined : body;
  }

  /**
   * Fastify finds out when it writes, which is too late: an answer that cannot be
   * sent would have been recorded. The invalid headers are removed, because the
   * answer of the error handling would fail on them again.
   */
  private validHeaders(): Headers {
    const headers = copyHeaders(this.reply.getHeaders());
    let failure: unknown;
    for (const name in headers) {
      try {
        validateHeaderValue(name, headers[name] as string);
      } catch (error) {
        failure = error;
        this.reply.removeHeader(name);
      }
    }
    if (failure) throw failure as Error;
    return headers;
  }

  /** Does what Fastify does with a web Response, but earlier: its body has to be observed here. */
  private unwrap(response: Response): unknown {
    if (response.bodyUsed) throw new TypeError('The body of the Response has been read already.');
    this.reply.raw.statusCode = response.status;
    for (const [name, value] of response.headers) this.reply.header(name, value);
    return response.body;
  }

  private replace(original: unknown, answer: Answer): unknown {
    toReadable(original)?.destroy();
    this.reply.raw.statusCode = answer.status;
    resetHeaders(this.headers, headersOfAnotherAnswer(this.surroundings, answer.headers));
    return answer.body.length === 0 || hasNoContent(answer.status) ? null : answer.body;
  }
}

function isWebResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]';
}
