import type { ReceivedMessage } from './received-message.js';

/** What names an event of CloudEvents, and what a further delivery has to repeat of it. */
export interface CloudEvent {
  source: string;
  id: string;
  content: unknown;
}

/** The prefixes of attributes in headers: HTTP and NATS, Kafka, AMQP and its two ways of writing it. */
const PREFIXES = ['ce-', 'ce_', 'cloudevents:', 'cloudevents_'];

/** In headers (the binary mode) or in the payload (the structured mode). */
export function cloudEventOf({ headers, payload }: ReceivedMessage): CloudEvent | undefined {
  for (const prefix of PREFIXES) {
    const source = headers.get(`${prefix}source`);
    const id = headers.get(`${prefix}id`);
    if (source !== undefined && id !== undefined) {
      return { source, id, content: [headers.get(`${prefix}type`) ?? null, payload] };
    }
  }
  return structuredEvent(payload);
}

function structuredEvent(payload: unknown): CloudEvent | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined;
  const event = payload as Record<string, unknown>;
  const { specversion, source, id } = event;
  if (typeof specversion !== 'string' || !isName(source) || !isName(id)) return undefined;
  // Not its other attributes: those of tracing differ when it is sent again.
  const { type = null, subject = null, data, data_base64: binary } = event;
  return { source, id, content: [type, subject, data ?? binary ?? null] };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
