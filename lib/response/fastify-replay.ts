import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Answer } from '../answers/answer.js';
import type { FastifyReply, Next } from './fastify-shapes.js';
import { ReplyHeaders } from './reply-headers.js';
import {
  copyHeaders,
  hasNoContent,
  headersOfAnotherAnswer,
  resetHeaders,
} from './response-headers.js';

/** The methods by which Nest would send its own answer. It calls `status` before `redirect`. */
const SENDERS = ['send', 'redirect', 'view', 'status'] as const;

/** Created once, or each reply would have its own shape. */
const SILENCED = Object.fromEntries(
  SENDERS.map((name) => [
    name,
    function (this: FastifyReply) {
      return this;
    },
  ]),
);

/** What Nest sends on the reply from now on is ignored. */
export function silenceReply(reply: FastifyReply): void {
  Object.assign(reply, SILENCED);
}

/** An answer of the library that passes Fastify's hooks, including compression. */
export class FastifyReplay {
  private failed = false;

  constructor(
    private readonly reply: FastifyReply,
    private readonly answer: Answer,
  ) {}

  send(): void {
    const { reply } = this;
    const { send } = reply;
    silenceReply(reply);
    guardEnd(reply.raw);
    send.call(reply, this.payload ?? undefined);
  }

  /** Earlier hooks may have changed the answer: restore it. */
  onSend(_payload: unknown, next: Next): void {
    if (this.failed) return next();
    const { reply, answer } = this;
    reply.raw.statusCode = answer.status;
    const current = reply.getHeaders();
    const wanted = headersOfAnotherAnswer(copyHeaders(current), answer.headers);
    resetHeaders(new ReplyHeaders(reply), wanted, current);
    next(null, this.payload);
  }

  /**
   * A later hook failed: the application's error handling answers, or the client
   * would wait for ever.
   */
  onError(): void {
    this.failed = true;
    for (const name of SENDERS) Reflect.deleteProperty(this.reply, name);
  }

  private get payload(): Buffer | null {
    const { status, body } = this.answer;
    return body.length === 0 || hasNoContent(status) ? null : body;
  }
}

const guardOf = Symbol('idempotency:guard');

interface GuardedResponse extends ServerResponse {
  [guardOf]: {
    write: ServerResponse['write'];
    end: ServerResponse['end'];
    /** What is piped into it. */
    source: Readable | undefined;
  };
}

/** Created once as well. */
const GUARDED: ThisType<GuardedResponse> = {
  write(...args: unknown[]) {
    return this.writableEnded || (Reflect.apply(this[guardOf].write, this, args) as boolean);
  },
  end(...args: unknown[]) {
    const { end, source } = this[guardOf];
    const mayEnd = !this.writableEnded && (source === undefined || source.readableEnded);
    return mayEnd ? (Reflect.apply(end, this, args) as unknown) : this;
  },
};

function noteSource(this: GuardedResponse, stream: Readable): void {
  this[guardOf].source = stream;
}

/**
 * Nest's exception filter ends the raw response when an outer interceptor fails
 * after the answer. That must not truncate a body that is still being compressed,
 * nor fail because all of it was sent.
 */
function guardEnd(raw: ServerResponse): void {
  const { write, end } = raw;
  (raw as GuardedResponse)[guardOf] = { write, end, source: undefined };
  raw.on('pipe', noteSource);
  Object.assign(raw, GUARDED);
}
