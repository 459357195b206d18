import type { ServerResponse } from 'node:http';
import type { Answer } from '../answers/answer.js';
import { ConnectedClient, type Client } from './client.js';
import { startEventStream, type EventStream } from './event-stream.js';
import { BROKEN_OFF_AFTER_MS, HeldResponse } from './held-response.js';
import type { HoldOptions, HttpPlatform } from './http-platform.js';
import { copyHeaders } from './response-headers.js';
import { silence, silent } from './silence.js';
import { writeAnswer } from './write-answer.js';

/** The part of an Express request that is used here. */
interface ExpressRequest {
  /** The path under which the application is mounted inside another one. */
  baseUrl?: string;
  route: { path: string | RegExp | string[] };
  res?: ServerResponse;
}

/** With the sending methods that Express adds to a response. */
const SILENT = silent([
  'send',
  'json',
  'jsonp',
  'redirect',
  'render',
  'sendStatus',
  'sendFile',
  'download',
]);

/**
 * An Express response is a Node response with more methods, all of which call the
 * few that `HeldResponse` intercepts.
 */
export class ExpressPlatform implements HttpPlatform {
  constructor(private readonly brokenOffAfterMs = BROKEN_OFF_AFTER_MS) {}

  routePattern(request: unknown): string {
    const { baseUrl = '', route } = request as ExpressRequest;
    return baseUrl + String(route.path);
  }

  client(response: unknown): Client {
    return new ConnectedClient(response as ServerResponse);
  }

  send(response: unknown, answer: Answer): void {
    const raw = response as ServerResponse;
    writeAnswer(raw, answer, copyHeaders(raw.getHeaders()));
    silence(raw, SILENT);
  }

  setHeader(response: unknown, name: string, value: string): void {
    (response as ServerResponse).setHeader(name, value);
  }

  announce(request: unknown, name: string, value: string | undefined): void {
    const { res } = request as ExpressRequest;
    if (!res || res.headersSent) return;
    if (value === undefined) res.removeHeader(name);
    else res.setHeader(name, value);
  }

  streamEvents(response: unknown): EventStream {
    const raw = response as ServerResponse;
    return startEventStream(raw, copyHeaders(raw.getHeaders()), SILENT);
  }

  hold(_request: unknown, response: unknown, options: HoldOptions): void {
    new HeldResponse(response as ServerResponse, options, this.brokenOffAfterMs);
  }
}
