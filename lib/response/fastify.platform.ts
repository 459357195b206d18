import type { Answer } from '../answers/answer.js';
import { ConnectedClient, type Client } from './client.js';
import { startEventStream, type EventStream } from './event-stream.js';
import { FastifyHold } from './fastify-hold.js';
import { FastifyReplay, silenceReply } from './fastify-replay.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from './fastify-shapes.js';
import { BROKEN_OFF_AFTER_MS } from './held-response.js';
import type { HoldOptions, HttpPlatform } from './http-platform.js';
import { copyHeaders } from './response-headers.js';
import { silent } from './silence.js';

const holdOf = Symbol('idempotency:hold');
const replayOf = Symbol('idempotency:replay');
const announcedOf = Symbol('idempotency:announced');

/** Of the Node response behind a reply. */
const SILENT = silent([]);

/** A request, with the object that handles its answer. */
interface MarkedRequest extends FastifyRequest {
  [holdOf]?: FastifyHold;
  [replayOf]?: FastifyReplay;
  /** Headers for whatever is sent. */
  [announcedOf]?: Record<string, string>;
}

/**
 * Fastify sends through hooks. The library's hooks find their state on the
 * request itself: the AsyncLocalStorage is empty when they run, and a WeakMap of
 * all requests would slow down every garbage collection. Hooks must be added
 * before the instance is ready, so the platform is created at module init.
 */
export class FastifyPlatform implements HttpPlatform {
  constructor(
    instance: FastifyInstance,
    private readonly brokenOffAfterMs = BROKEN_OFF_AFTER_MS,
  ) {
    instance.addHook('onSend', (request: MarkedRequest, reply, payload, next) => {
      const announced = request[announcedOf];
      if (announced) for (const name in announced) reply.header(name, announced[name]!);
      const passing = request[holdOf] ?? request[replayOf];
      if (passing) passing.onSend(payload, next);
      else next();
    });
    instance.addHook('onError', (request: MarkedRequest, _reply, _error, next) => {
      request[holdOf]?.onError();
      request[replayOf]?.onError();
      next();
    });
  }

  routePattern(request: unknown): string {
    return (request as FastifyRequest).routeOptions.url ?? '';
  }

  client(response: unknown): Client {
    return new ConnectedClient((response as FastifyReply).raw);
  }

  send(response: unknown, answer: Answer): void {
    const reply = response as FastifyReply;
    const replay = new FastifyReplay(reply, answer);
    (reply.request as MarkedRequest)[replayOf] = replay;
    replay.send();
  }

  setHeader(response: unknown, name: string, value: string): void {
    (response as FastifyReply).header(name, value);
  }

  /** Its reply is not known from here, but to the hook. */
  announce(request: unknown, name: string, value: string | undefined): void {
    const announced = ((request as MarkedRequest)[announcedOf] ??= {});
    if (value === undefined) delete announced[name];
    else announced[name] = value;
  }

  /** Bypasses Fastify's hooks for payloads, such as compression, which expect answers that end. */
  streamEvents(response: unknown): EventStream {
    const reply = response as FastifyReply;
    const surroundings = copyHeaders(reply.getHeaders());
    reply.hijack();
    silenceReply(reply);
    return startEventStream(reply.raw, surroundings, SILENT);
  }

  hold(request: unknown, response: unknown, options: HoldOptions): void {
    const hold = new FastifyHold(response as FastifyReply, options, this.brokenOffAfterMs);
    (request as MarkedRequest)[holdOf] = hold;
  }
}
