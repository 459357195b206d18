import type { Answer, ObservedAnswer, AnswerToSend } from '../answers/answer.js';
import type { Client } from './client.js';
import type { EventStream } from './event-stream.js';
import type { HandlerEnd } from './handler-end.js';

/** A class, because it lives as long as its request: see "Garbage collection" in bench/README.md. */
export class HoldOptions {
  constructor(
    /** Larger bodies are sent without being recorded, after `record`. */
    readonly maxBytes: number,
    readonly handlerEnd: HandlerEnd,
    /**
     * Called exactly once, after the handler has ended and before the first byte is
     * sent. Never rejects.
     */
    readonly record: (observed: ObservedAnswer) => Promise<AnswerToSend>,
  ) {}
}

/** The interface to one HTTP framework under Nest. */
export interface HttpPlatform {
  /** The pattern of the matched route, such as `/rides/:id/tips`. */
  routePattern(request: unknown): string;

  /** The client of this response. */
  client(response: unknown): Client;

  /**
   * Answers the request here and now, past serializers and filters, and turns
   * whatever Nest sends on this response afterwards into a no-op.
   */
  send(response: unknown, answer: Answer): void;

  /** Sets headers for an answer that Nest sends. */
  setHeader(response: unknown, name: string, value: string): void;

  /**
   * Sets a header of the answer that somebody else is going to send to this request, or
   * takes it back.
   */
  announce(request: unknown, name: string, value: string | undefined): void;

  /** Answers the request with a stream of events, and turns whatever Nest sends afterwards into a no-op. */
  streamEvents(response: unknown): EventStream;

  /**
   * Holds back whatever the application answers on this response, reports it to
   * `record` as the client would have received it (after interceptors,
   * serializers and exception filters, before compression), and sends what it
   * says.
   */
  hold(request: unknown, response: unknown, options: HoldOptions): void;
}
