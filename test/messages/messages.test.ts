import { Catch, ConflictException, type RpcExceptionFilter } from '@nestjs/common';
import {
  KafkaRetriableException,
  MqttContext,
  RedisContext,
  RpcException,
  TcpContext,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { throwError } from 'rxjs';
import { barrier } from '../support/barrier.js';
import { crashIn } from '../support/crash.js';
import { createTestDatabase } from '../support/database.js';
import { lapse } from '../support/idempotent-app.js';
import { recordingLogger } from '../support/recording-logger.js';
import { until } from '../support/until.js';
import { InboxController, refusedOrder, startInbox, Work, type InboxApp } from './inbox-app.js';
import { Wire } from './servers.js';

@Catch(RpcException)
class Renaming implements RpcExceptionFilter<RpcException> {
  catch(exception: RpcException) {
    const { code } = exception.getError() as { code: string };
    return throwError(() => ({ renamed: code }));
  }
}

describe('A message', () => {
  let app: InboxApp;
  beforeAll(async () => {
    // Limits do not hold for messages, so no test of this file notices them.
    app = await startInbox({ limits: { newKeysPerSecond: 0.001, burst: 1, storedKeys: 1 } });
  });
  beforeEach(() => {
    app.work.reset();
    app.rabbit.settled.length = 0;
    app.rabbit.answers.length = 0;
    app.kafka.answers.length = 0;
    app.logger.errors.length = 0;
  });
  afterAll(() => app.close());

  /** The only key of a handler that was reserved since the last look. */
  const newKeys = async () => {
    const rows = await app.database.query('DELETE FROM idempotency_keys RETURNING *');
    return rows.map(({ endpoint, scope, key }) => [endpoint, scope, key].join(' | '));
  };
  const replyTo = 'answers';
  const asked = { kafka_correlationId: 'c', kafka_replyTopic: 'r' };
  const metadata = (values: Record<string, string>) => ({
    get: (name: string) => [values[name]],
    getMap: () => values,
  });
  const envelope = (id: string, attempt = 1) => ({
    id,
    topic: 'order',
    payload: { amount: 1 },
    attempt,
    createdAt: '2026-01-01T00:00:00.000Z',
  });

  it('is never refused by a limit', async () => {
    for (const id of ['limit-1', 'limit-2', 'limit-3']) {
      await app.nats.deliver('order', {}, { 'Nats-Msg-Id': id });
    }
    expect(app.work.calls.order).toBe(3);
  });

  describe('is named', () => {
    beforeEach(newKeys);

    const event = (id: string) => ({ specversion: '1.0', source: '/shop', id, type: 'order' });
    const sent: [string, string, () => Promise<unknown>][] = [
      [
        "by CloudEvents' headers of AMQP, before its messageId",
        '["/shop","a"]',
        () =>
          app.rabbit.deliver(
            'order',
            {},
            {
              replyTo,
              messageId: 'not-this',
              headers: { 'cloudEvents:source': '/shop', 'cloudEvents:id': 'a' },
            },
          ),
      ],
      [
        "by CloudEvents' headers of Kafka",
        '["/shop","b"]',
        () => app.kafka.deliver('order', {}, { ...asked, ce_source: '/shop', ce_id: 'b' }),
      ],
      [
        "by CloudEvents' headers of NATS, before Nats-Msg-Id",
        '["/shop","c"]',
        () =>
          app.nats.deliver(
            'order',
            {},
            {
              'ce-source': '/shop',
              'ce-id': 'c',
              'Nats-Msg-Id': 'not-this',
            },
          ),
      ],
      [
        'by CloudEvents in its payload',
        '["/shop","d"]',
        () => app.redis.deliver('order', event('d')),
      ],
      [
        'by the messageId of AMQP, before a header',
        'message-1',
        () =>
          app.rabbit.deliver(
            'order',
            {},
            {
              replyTo,
              messageId: 'message-1',
              headers: { 'Idempotency-Key': 'not-this' },
            },
          ),
      ],
      [
        'by Nats-Msg-Id, before a header',
        'nats-1',
        () => app.nats.deliver('order', {}, { 'Nats-Msg-Id': 'nats-1', 'Idempotency-Key': 'x' }),
      ],
      [
        'by a header of AMQP, in its quoted form',
        'rabbit-1',
        () =>
          app.rabbit.deliver(
            'order',
            {},
            {
              replyTo,
              headers: { 'idempotency-key': Buffer.from('"rabbit-1"') },
            },
          ),
      ],
      [
        'by a header of Kafka, before the id of the outbox',
        'kafka-1',
        () =>
          app.kafka.deliver('order', envelope('no'), { ...asked, 'Idempotency-Key': 'kafka-1' }),
      ],
      [
        "by gRPC's metadata",
        'grpc-1',
        () => app.wire.deliver('order', {}, metadata({ 'idempotency-key': 'grpc-1' })),
      ],
      [
        "by TCP's metadata",
        'tcp-1',
        () =>
          app.wire.deliver(
            'order',
            {},
            new TcpContext([{} as never, 'order', { 'Idempotency-Key': 'tcp-1' }]),
          ),
      ],
      [
        "by Redis' metadata",
        'redis-1',
        () =>
          app.wire.deliver(
            'order',
            {},
            new RedisContext(['order', { 'Idempotency-Key': 'redis-1' }]),
          ),
      ],
      [
        "by MQTT's user properties",
        'mqtt-1',
        () =>
          app.wire.deliver(
            'order',
            {},
            new MqttContext([
              'order',
              { properties: { userProperties: { 'Idempotency-Key': 'mqtt-1' } } },
            ]),
          ),
      ],
      [
        'by the header of our outbox',
        'outbox-1',
        () => app.kafka.deliver('order', {}, { ...asked, 'Idempotency-Outbox-Id': 'outbox-1' }),
      ],
      [
        'by the payload of our outbox, where there are no headers',
        'outbox-2',
        () => app.redis.deliver('order', envelope('outbox-2')),
      ],
    ];
    it.each(sent)('%s', async (_, key, deliver) => {
      await deliver();
      await until(() => app.work.calls['order']);
      expect(await newKeys()).toEqual([`MESSAGE InboxController.order |  | ${key}`]);
    });

    it('by the hash of an id that is longer than a key', async () => {
      await app.nats.deliver('order', {}, { 'Nats-Msg-Id': 'n'.repeat(300) });
      const [key] = await newKeys();
      expect(key).toMatch(/\| sha256:[0-9a-f]{64}$/);
    });

    it('by the functions of its policy, which get payload and context', async () => {
      const cmd = { cmd: 'own' };
      const order = { reference: 'r-1', tenant: 'acme', amount: 1 };
      const first = await app.wire.deliver(cmd, order, { prefix: 'p-' });
      expect(await app.wire.deliver(cmd, { ...order, note: 'late' }, { prefix: 'p-' })).toEqual(
        first,
      );
      await expect(
        app.wire.deliver(cmd, { ...order, amount: 2 }, { prefix: 'p-' }),
      ).rejects.toMatchObject({ code: 'key_reused' });
      await app.wire.deliver(cmd, { ...order, dry: true });
      await app.wire.deliver(cmd, { ...order, dry: true });
      expect(app.work.calls['own']).toBe(3);
      await expect(app.wire.deliver(cmd, { tenant: 'acme' })).rejects.toMatchObject({
        code: 'key_missing',
      });
      await expect(app.wire.deliver(cmd, { reference: 'r-1' })).rejects.toMatchObject({
        code: 'scope_missing',
      });
      const [row] = await app.database.query(
        'SELECT method, route, path, request FROM idempotency_keys',
      );
      expect(row).toEqual({
        method: 'MESSAGE',
        route: 'InboxController.own',
        path: '{"cmd":"own"}',
        request: order,
      });
    });

    it('or refused, never by its offset', async () => {
      await app.kafka.deliver('order', { amount: 1 }, asked);
      await until(() => app.kafka.answers.length);
      const error = String(app.kafka.answers[0]!.headers['kafka_nest-err']);
      expect(JSON.parse(error)).toMatchObject({ code: 'key_missing', retryable: false });
      expect(app.work.calls).toEqual({});
    });

    it('only if it has to be', async () => {
      await app.redis.deliver('optional', {});
      await app.redis.deliver('optional', {});
      expect(app.work.calls['optional']).toBe(2);
      expect(await newKeys()).toEqual([]);
    });
  });

  describe('that comes again', () => {
    it('gets the recorded result, through the interceptors around', async () => {
      const payload = { numbered: true };
      const headers = { 'Nats-Msg-Id': 'again' };
      const first = await app.nats.deliver('order', payload, headers);
      expect(first.response).toEqual({ value: { number: 1 } });
      expect(await app.nats.deliver('order', payload, headers)).toEqual(first);
      expect(app.work.calls['order']).toBe(1);
    });

    it('may have been counted by the outbox', async () => {
      const first = await app.redis.deliver('order', envelope('counted', 1));
      expect(await app.redis.deliver('order', envelope('counted', 2))).toEqual(first);
      const other = { ...envelope('counted', 3), payload: { amount: 2 } };
      expect((await app.redis.deliver('order', other)).err).toMatchObject({ code: 'key_reused' });
    });

    it('may have other attributes of tracing, in CloudEvents', async () => {
      const event = { specversion: '1.0', source: '/shop', id: 'traced', type: 'order', data: 1 };
      const first = await app.redis.deliver('order', { ...event, traceparent: '00-1' });
      expect(await app.redis.deliver('order', { ...event, traceparent: '00-2' })).toEqual(first);
      const other = await app.redis.deliver('order', { ...event, data: 2 });
      expect(other.err).toMatchObject({ code: 'key_reused' });
    });

    it('gets a definite error again, as the same exception', async () => {
      const deliver = (id: string) =>
        app.wire.deliver('order', envelope(id)).catch((e: unknown) => e);
      app.work.on('order', () => {
        throw new RpcException({ reason: 'sold out' });
      });
      expect(await deliver('rpc')).toEqual({ reason: 'sold out' });
      expect(await deliver('rpc')).toEqual({ reason: 'sold out' });
      expect(app.work.calls['order']).toBe(1);
      app.work.on('order', refusedOrder);
      const first = await deliver('http');
      expect(await deliver('http')).toEqual(first);
      expect(app.work.calls['order']).toBe(2);
    });

    it.each([
      new Error('a blip'),
      new RpcException({ status: 503 }),
      new RpcException({ code: 14 }),
      new KafkaRetriableException('later'),
    ])('runs again after an error that is none: %p', async (error) => {
      app.work.on('order', () => {
        throw error;
      });
      const message = envelope(`again-${JSON.stringify(error)}-${error.message}`);
      await expect(app.wire.deliver('order', message)).rejects.toBeDefined();
      app.work.on('order', () => 'done');
      expect(await app.wire.deliver('order', message)).toBe('done');
    });

    it('may be corrected after a pipe refused it', async () => {
      const wrong = { 'Nats-Msg-Id': 'corrected' };
      expect((await app.nats.deliver('checked', { amount: 'x' }, wrong)).err).toBeDefined();
      expect(app.work.calls).toEqual({});
      expect((await app.nats.deliver('checked', { amount: 1 }, wrong)).response).toEqual({
        number: 1,
      });
    });

    it('has a record for each handler of an event, and none of their results', async () => {
      await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
      app.work.on('ordered', () => 1n);
      for (let delivery = 0; delivery < 2; delivery++) {
        await app.kafka.deliver('ordered', {}, { 'Idempotency-Key': 'event' });
      }
      expect(app.work.calls).toEqual({ ordered: 1, orderedAsWell: 1 });
      const rows = await app.database.query(
        'SELECT endpoint, status, response_body FROM idempotency_keys ORDER BY endpoint',
      );
      const done = { status: 'completed', response_body: Buffer.alloc(0) };
      expect(rows).toEqual([
        { endpoint: 'EVENT InboxController.ordered', ...done },
        { endpoint: 'EVENT InboxController.orderedAsWell', ...done },
      ]);
    });

    it('gets the last value of an Observable, the first time as well', async () => {
      for (let delivery = 0; delivery < 2; delivery++) {
        expect(await app.wire.deliver('several', envelope('several'))).toBe(3);
      }
      expect(app.work.calls['several']).toBe(1);
    });

    it('finds its record where controllers are made for each request', async () => {
      const first = await app.redis.deliver('scoped', envelope('scoped'));
      expect(await app.redis.deliver('scoped', envelope('scoped'))).toEqual(first);
      expect(app.work.calls['scoped']).toBe(1);
    });
  });

  describe('that is in progress', () => {
    const hold = (name: string) => {
      const gate = barrier();
      app.work.on(name, () => gate.pass());
      return gate;
    };

    it('is refused with a code, where nothing redelivers', async () => {
      const gate = hold('order');
      const first = app.redis.deliver('order', envelope('busy'));
      await gate.arrived();
      expect((await app.redis.deliver('order', envelope('busy'))).err).toMatchObject({
        code: 'in_progress',
        retryable: true,
        retryAfter: 1,
      });
      gate.open();
      await first;
    });

    it('is waited for with onInProgress: wait', async () => {
      const gate = barrier();
      app.work.on('waiting', () => gate.pass().then(() => 'waited'));
      const deliver = () => app.redis.deliver('waiting', envelope('patient'));
      const both = [deliver(), gate.arrived().then(deliver)];
      await gate.arrived();
      gate.open();
      const answers = await Promise.all(both);
      expect(answers.map(({ response }) => response)).toEqual(['waited', 'waited']);
      expect(app.work.calls['waiting']).toBe(1);
    });

    it('comes again from Kafka, with an answer or without', async () => {
      const [order, event] = [hold('order'), hold('ordered')];
      const key = { 'Idempotency-Key': 'kafka-busy' };
      const first = [
        app.kafka.deliver('order', {}, { ...asked, ...key }),
        app.kafka.deliver('ordered', {}, key),
      ];
      await Promise.all([order.arrived(), event.arrived()]);
      for (const again of [
        app.kafka.deliver('order', {}, { ...asked, ...key }),
        app.kafka.deliver('ordered', {}, key),
      ]) {
        await expect(again).rejects.toThrow(KafkaRetriableException);
      }
      order.open();
      event.open();
      await Promise.all(first);
    });

    it("has gRPC's codes there", async () => {
      const gate = hold('grpc');
      const pattern = { service: 'Orders', rpc: 'Create', streaming: 'no_stream' };
      const deliver = () => app.wire.deliver(pattern, {}, metadata({ 'idempotency-key': 'g' }));
      const first = deliver();
      await gate.arrived();
      await expect(deliver()).rejects.toMatchObject({
        code: 14,
        message: expect.stringMatching(/^in_progress: /),
      });
      await expect(app.wire.deliver(pattern, {}, metadata({}))).rejects.toMatchObject({ code: 3 });
      gate.open();
      await first;
    });
  });

  describe('of Kafka without an answer', () => {
    const deliver = (key: string) => app.kafka.deliver('ordered', {}, { 'Idempotency-Key': key });

    it('comes again after a blip, and not after a definite error', async () => {
      app.work.on('ordered', () => {
        throw new Error('a blip');
      });
      await expect(deliver('blip')).rejects.toThrow(KafkaRetriableException);
      app.work.on('ordered', refusedOrder);
      await deliver('blip');
      await deliver('blip');
      expect(app.work.calls['ordered']).toBe(2);
      expect(app.logger.errors).toContainEqual(
        expect.stringContaining(
          'InboxController.ordered is done with a message that it did not carry out',
        ),
      );
    });

    it('does not freeze its partition if it has no key or an unknown outcome', async () => {
      await app.kafka.deliver('ordered', {});
      expect(app.work.calls).toEqual({});
      await crashIn('recording:before', () => deliver('crashed'));
      await lapse(app.database, 'crashed');
      await deliver('crashed');
      const rows = await app.database.query(
        "SELECT status FROM idempotency_keys WHERE key = 'crashed' AND status = 'unknown'",
      );
      expect(rows.length).toBeGreaterThan(0);
    });
  });

  describe('of RabbitMQ with settle: true', () => {
    const deliver = (pattern: string, messageId: string | undefined, more = {}) =>
      app.rabbit.deliver(pattern, {}, { ...(messageId !== undefined && { messageId }), ...more });
    /** Nest does not wait for the handlers of events. */
    const settled = async (count = 1) => {
      await until(() => app.rabbit.settled.length >= count);
      return app.rabbit.settled.map(([, how]) => how);
    };

    it('is acknowledged when it is on record, and each time again', async () => {
      await deliver('paid', 'p1');
      expect(await settled()).toEqual(['ack']);
      await deliver('paid', 'p1', { redelivered: true });
      expect(await settled(2)).toEqual(['ack', 'ack']);
      expect(app.work.calls['paid']).toBe(1);
    });

    it('is settled once, when all handlers of the event are through, as the worst of them says', async () => {
      const gate = barrier();
      app.work.on('shipped', () => gate.pass());
      await deliver('shipped', 's1');
      await until(() => app.work.calls['shippedAsWell']);
      await gate.arrived();
      expect(app.rabbit.settled).toEqual([]);
      gate.open();
      expect(await settled()).toEqual(['ack']);
      app.work.on('shipped', refusedOrder);
      await deliver('shipped', 's2');
      expect(await settled(2)).toEqual(['ack', 'dead letter']);
    });

    it('is a dead letter after a definite error, without a key, and if a pipe refuses it', async () => {
      app.work.on('paid', refusedOrder);
      await deliver('paid', 'p2');
      expect(await settled()).toEqual(['dead letter']);
      await deliver('paid', undefined);
      expect(await settled(2)).toEqual(['dead letter', 'dead letter']);
      await app.rabbit.deliver('validated', { amount: 'x' }, { messageId: 'v1' });
      expect(await settled(3)).toEqual(['dead letter', 'dead letter', 'dead letter']);
    });

    it('comes again after a blip, and goes on at its recovery point', async () => {
      const phases = app.app.get(AtomicPhase);
      let phased = 0;
      app.work.on('paid', async () => {
        await phases.local('booked', async () => (phased += 1));
        if (app.work.calls['paid'] === 1) throw new Error('a blip');
      });
      await deliver('paid', 'p3');
      expect(await settled()).toEqual(['requeue']);
      await deliver('paid', 'p3', { redelivered: true });
      expect(await settled(2)).toEqual(['requeue', 'ack']);
      expect({ phased, runs: app.work.calls['paid'] }).toEqual({ phased: 1, runs: 2 });
    });

    it('comes again while it is in progress, without an answer meanwhile', async () => {
      const gate = barrier();
      app.work.on('refund', () => gate.pass().then(() => 'refunded'));
      const first = deliver('refund', 'r1', { replyTo });
      await gate.arrived();
      await deliver('refund', 'r1', { replyTo, redelivered: true });
      expect(await settled()).toEqual(['requeue']);
      expect(app.rabbit.answers).toEqual([]);
      gate.open();
      await first;
      expect(await settled(2)).toEqual(['requeue', 'ack']);
      await until(() => app.rabbit.answers.length);
      expect(app.rabbit.answers[0]).toMatchObject({ response: 'refunded' });
    });

    it('is acknowledged with its answer, whatever that is', async () => {
      app.work.on('refund', () => {
        throw new ConflictException('paid out');
      });
      await deliver('refund', 'r2', { replyTo });
      app.work.on('refund', () => {
        throw new Error('a blip');
      });
      await deliver('refund', 'r3', { replyTo });
      expect(await settled(2)).toEqual(['ack', 'ack']);
      await until(() => app.rabbit.answers.length === 2);
    });

    it('is acknowledged and left to the reconciler if its outcome is unknown', async () => {
      const phases = app.app.get(AtomicPhase);
      app.work.on('paid', () =>
        phases.foreign('charged', {
          call: () => Promise.reject(new Error('connection reset')),
        }),
      );
      await deliver('paid', 'p4');
      expect(await settled()).toEqual(['ack']);
      await deliver('paid', 'p4', { redelivered: true });
      expect(await settled(2)).toEqual(['ack', 'ack']);
      expect(app.work.calls['paid']).toBe(1);
    });

    it('comes again if a call in doubt may be repeated', async () => {
      const phases = app.app.get(AtomicPhase);
      app.work.on('paid', () =>
        phases.foreign('charged', {
          inDoubt: 'repeat',
          call: () => Promise.reject(new Error('connection reset')),
        }),
      );
      await deliver('paid', 'p5');
      expect(await settled()).toEqual(['requeue']);
    });

    it('is refused by name if it came by another transport', async () => {
      await expect(app.wire.deliver('elsewhere', envelope('e'))).rejects.toBeDefined();
      expect(app.logger.errors.join()).toContain('settle acknowledges messages of RabbitMQ');
      expect(app.work.calls).toEqual({});
    });

    it('is missed where messages have to be acknowledged', async () => {
      await app.rabbit.deliver('ordered', {}, { messageId: 'unsettled', redelivered: true });
      await until(() => app.work.calls['orderedAsWell']);
      expect(app.logger.errors.join()).toContain('Use @Idempotent({ settle: true })');
    });
  });
});

describe('An application without HTTP', () => {
  it('is an inbox too, and its filters see the refusals', async () => {
    const database = await createTestDatabase();
    const wire = new Wire();
    const testing = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
        IdempotencyModule.forRoot({ scope: 'global', maintenance: false, coverage: 'error' }),
      ],
      controllers: [InboxController],
      providers: [Work],
    }).compile();
    const app = testing.createNestMicroservice({ strategy: wire, logger: recordingLogger() });
    app.useGlobalFilters(new Renaming());
    await app.listen();
    const context = { getMap: () => ({ 'idempotency-key': 'k' }) };
    const first = await wire.deliver('order', { amount: 1 }, context);
    expect(await wire.deliver('order', { amount: 1 }, context)).toEqual(first);
    await expect(
      wire.deliver('order', { amount: 2 }, { getHeaders: () => undefined }),
    ).rejects.toEqual({ renamed: 'key_missing' });
    await app.close();
    await database.drop();
  });
});
