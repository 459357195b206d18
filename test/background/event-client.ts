import { request, type IncomingMessage } from 'node:http';
import { until } from '../support/until.js';

/** An event as the client has received it. */
export interface ReceivedEvent {
  event?: string;
  id?: string;
  data?: any;
  retry?: string;
  comment?: string;
}

export interface EventClient {
  status: number;
  headers: IncomingMessage['headers'];
  events: ReceivedEvent[];
  /** The next event that is not a hint about reconnecting or a comment. */
  next(): Promise<ReceivedEvent>;
  /** The next one that tells of this state: a look may have met the key on its way there. */
  told(status: string): Promise<ReceivedEvent>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  leave(): void;
}

/** Listens as an EventSource does, without coming back. */
export function listenTo(url: string, headers: Record<string, string> = {}): Promise<EventClient> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { agent: false, headers: { accept: 'text/event-stream', ...headers } },
      (incoming) => {
        const events: ReceivedEvent[] = [];
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          const blocks = (text + chunk).split('\n\n');
          text = blocks.pop()!;
          events.push(...blocks.map(eventFrom));
        });
        incoming.on('error', () => undefined);
        let read = 0;
        const next = async () => {
          const told = () => events.filter(({ event }) => event !== undefined);
          const event = await until(() => told()[read]);
          read += 1;
          return event;
        };
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          events,
          next,
          async told(status) {
            for (;;) {
              const event = await next();
              if (event.data.status === status) return event;
            }
          },
          ended: new Promise((end) => incoming.once('end', end)),
          leave: () => outgoing.destroy(),
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function eventFrom(block: string): ReceivedEvent {
  const fields: ReceivedEvent = {};
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w*): (.*)$/.exec(line)!;
    if (name === '') fields.comment = value!;
    else if (name === 'data') fields.data = JSON.parse(value!);
    else fields[name as 'event' | 'id' | 'retry'] = value!;
  }
  return fields;
}
