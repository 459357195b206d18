import { microservices } from '../messages/microservices.js';
import { OUTBOX_ID_HEADER } from '../messages/outbox-envelope.js';
import type { DeliveredMessage } from './outbox-transport.js';

/** A message without what only this process can use. */
export type SentMessage = Omit<DeliveredMessage, 'signal'>;

/** The package of Nest's client for NATS. By a variable, because it need not be installed. */
const NATS: string = '@nats-io/transport-node';
/** The one of Nest 11. */
const EARLIER_NATS: string = 'nats';

/**
 * What a client of Nest sends: the message, and its id in a header where the transport
 * has headers, so that the other side finds it without knowing our payload. In AMQP and
 * NATS it is also where their own rules want the id of a message.
 */
export async function recordFor(client: object, message: SentMessage): Promise<unknown> {
  const { id, orderingKey } = message;
  const nest = await microservices().catch(() => undefined);
  // A client of the application's own, where Nest's are not installed.
  if (!nest) return message;
  const { ClientRMQ, ClientKafka, ClientNats } = nest;
  // A serializer of the application's own would not know what to do with a record.
  if (client instanceof ClientRMQ && usesOwnSerializer(client, 'RmqRecordSerializer')) {
    const options = { messageId: id, headers: { [OUTBOX_ID_HEADER]: id } };
    return new nest.RmqRecordBuilder(message).setOptions(options).build();
  }
  if (client instanceof ClientKafka && usesOwnSerializer(client, 'KafkaRequestSerializer')) {
    const headers = { [OUTBOX_ID_HEADER]: id };
    // Messages of one key stay in order, which is what an ordering key is for.
    return { key: orderingKey ?? null, value: message, headers };
  }
  if (client instanceof ClientNats && usesOwnSerializer(client, 'NatsRecordSerializer')) {
    const headers = await natsHeaders({ 'Nats-Msg-Id': id, [OUTBOX_ID_HEADER]: id });
    return headers ? new nest.NatsRecordBuilder(message).setHeaders(headers).build() : message;
  }
  return message;
}

function usesOwnSerializer(client: object, name: string): boolean {
  return (client as { serializer?: object }).serializer?.constructor.name === name;
}

/** Undefined without the package: the id is in the message as well. */
async function natsHeaders(values: Record<string, string>): Promise<unknown> {
  for (const name of [NATS, EARLIER_NATS]) {
    const nats = (await import(name).catch(() => undefined)) as NatsPackage | undefined;
    if (!nats) continue;
    const headers = nats.headers();
    for (const [header, value] of Object.entries(values)) headers.set(header, value);
    return headers;
  }
  return undefined;
}

interface NatsPackage {
  headers(): { set(name: string, value: string): void };
}
