import {
  ClientKafka,
  ClientNats,
  ClientRMQ,
  ClientTCP,
  type NatsRecord,
} from '@nestjs/microservices';
import {
  KafkaRequestSerializer,
  NatsRecordSerializer,
  RmqRecordSerializer,
} from '@nestjs/microservices/serializers/index.js';
import { describe, expect, it } from '@jest/globals';
import { microserviceTransport, type DeliveredMessage } from 'nestjs-atomic-idempotency';
import { of } from 'rxjs';

const ID = '0192f2b4-0000-7000-8000-000000000000';
const sent = {
  id: ID,
  topic: 'receipts.send',
  payload: { ride: 7 },
  orderingKey: 'ride-7',
  attempt: 2,
  createdAt: new Date(0),
};
const message: DeliveredMessage = { ...sent, signal: new AbortController().signal };

/** What a client of this class hands to its serializer, without a connection. */
async function handedOver<T>(client: { prototype: object }, serializer?: object): Promise<T> {
  let handed: unknown;
  const own = Object.create(client.prototype, {
    serializer: { value: serializer },
    send: {
      value: (_pattern: string, data: unknown) => {
        handed = data;
        return of(undefined);
      },
    },
  }) as Parameters<typeof microserviceTransport>[0];
  await microserviceTransport(own).deliver(message);
  return handed as T;
}

describe('The id of a message of the outbox', () => {
  it('is messageId and a header of RabbitMQ', async () => {
    const serializer = new RmqRecordSerializer();
    const data = await handedOver(ClientRMQ, serializer);
    expect(serializer.serialize({ pattern: 'receipts.send', data })).toEqual({
      pattern: 'receipts.send',
      data: sent,
      options: { messageId: ID, headers: { 'Idempotency-Outbox-Id': ID } },
    });
  });

  it('is a header of Kafka, and the ordering key is the key', async () => {
    const serializer = new KafkaRequestSerializer();
    const data = await handedOver(ClientKafka, serializer);
    expect(serializer.serialize(data)).toEqual({
      key: 'ride-7',
      value: JSON.stringify(sent),
      headers: { 'Idempotency-Outbox-Id': ID },
    });
  });

  it('is Nats-Msg-Id and a header of NATS', async () => {
    const { data, headers } = await handedOver<NatsRecord>(ClientNats, new NatsRecordSerializer());
    expect(data).toEqual(sent);
    const { get } = { get: (name: string) => (headers as Map<string, string>).get(name) };
    expect([get('Nats-Msg-Id'), get('Idempotency-Outbox-Id')]).toEqual([ID, ID]);
  });

  it('is in the payload alone where there are no headers, or a serializer of its own', async () => {
    expect(await handedOver(ClientTCP)).toEqual(sent);
    expect(await handedOver(ClientRMQ, { serialize: (packet: unknown) => packet })).toEqual(sent);
  });
});
