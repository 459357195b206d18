import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { until } from '../support/until.js';

export interface Traffic {
  /** The keys of all requests, in the order of their arrival. */
  keys: (string | undefined)[];
  /**
   * What became of them: the status of the answer, `lost` where the client had
   * already left, undefined where the answer is still to come.
   */
  outcomes: (number | 'lost' | undefined)[];
  /** Until this many requests have come. */
  arrived(count: number): Promise<unknown>;
  /** Until the request of this number, beginning with 1, has its answer. */
  answered(number: number): Promise<unknown>;
  forget(): void;
}

/** What a client really does on the wire, which its promise does not tell. */
export function watchTraffic(app: INestApplication): Traffic {
  const traffic: Traffic = {
    keys: [],
    outcomes: [],
    arrived: (count) => until(() => traffic.keys.length >= count, `request ${count} to arrive`),
    answered: (number) =>
      until(() => traffic.outcomes[number - 1] !== undefined, `an answer to request ${number}`),
    forget() {
      this.keys = [];
      this.outcomes = [];
    },
  };
  const server = app.getHttpServer() as Server;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { keys, outcomes } = traffic;
    const index = keys.push(request.headers['idempotency-key'] as string | undefined) - 1;
    outcomes.push(undefined);
    response.once('close', () => (outcomes[index] ??= 'lost'));
    response.once('finish', () => (outcomes[index] ??= response.statusCode));
  });
  return traffic;
}
