import { createServer, type AddressInfo } from 'node:net';
import { connect, type ChannelModel } from 'amqplib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeDue, messages } from '../outbox/messages.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { hasRabbitMq, startBroker, type Broker } from '../support/rabbitmq.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { until } from '../support/until.js';

/** Where the receiver dies, and what of the message is on record then. */
const RECEIVER_POINTS = [
  'reserved',
  'booked:before_commit',
  'booked:after_commit',
  'recording:before',
  // Recorded, but neither acknowledged nor answered.
  'recording:after',
];

/** The sender dies before it has sent a message, while the receiver is at it, and with an answer that is not recorded. */
const SENDER_POINTS = ['sending', 'under way', 'answered'];

const QUEUE = `inbox-${process.pid}`;

describe('From an outbox to an inbox', () => {
  let database: TestDatabase;
  let inboxDatabase: TestDatabase;
  beforeAll(async () => {
    [database, inboxDatabase] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    await inboxDatabase.query('CREATE TABLE things (item text)');
  });
  afterAll(() => Promise.all([database.drop(), inboxDatabase.drop()]));

  /** What came of each item: how often it was booked. */
  const booked = async (prefix: string) => {
    const rows = await inboxDatabase.query<{ item: string; times: string }>(
      'SELECT item, count(*) AS times FROM things WHERE item LIKE $1 GROUP BY 1 ORDER BY 1',
      [`${prefix}%`],
    );
    return Object.fromEntries(rows.map(({ item, times }) => [item.slice(prefix.length), +times]));
  };
  const onceEach = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]));

  const once = {
    booked: onceEach([...RECEIVER_POINTS, ...SENDER_POINTS]),
    keys: [{ status: 'completed', count: RECEIVER_POINTS.length + SENDER_POINTS.length }],
  };

  /** Nobody has to wait for the leases of the dead. */
  const forgetTheDead = async () => {
    await inboxDatabase.query(
      `UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE status = 'in_progress'`,
    );
    await makeDue(database);
  };

  function service(role: 'sender' | 'receiver', env: Record<string, string>) {
    const { url } = role === 'sender' ? database : inboxDatabase;
    return startServer('test/servers/outbox-to-inbox', {
      env: { ROLE: role, DATABASE: url, QUEUE, ...env },
    });
  }

  const stopped = async (server: ServerProcess, count: number) => {
    for (let at = 0; at < count; at++) await server.event('stopped');
  };

  /** Delivers until the outbox is empty, whatever pauses it has decided on. */
  const deliverAll = (sender: ServerProcess) =>
    until(async () => {
      await makeDue(database);
      await sender.ask('deliver');
      return (await messages(database)).length === 0;
    }, 'the outbox to become empty');

  /** The same for each transport. One kill finds a message at every point. */
  async function killEachSide(prefix: string, env: Record<string, string>) {
    const items = RECEIVER_POINTS.map((point) => prefix + point);
    const [sender, receiver] = await Promise.all([
      service('sender', env),
      service('receiver', env),
    ]);
    const ids = await sender.ask<string[]>('add', items);
    const stops = ids.map((id, index) => [id, RECEIVER_POINTS[index]]);
    await receiver.ask('stopAt', Object.fromEntries(stops));
    const delivering = sender.ask('deliver');
    await stopped(receiver, items.length);
    await receiver.kill();
    await forgetTheDead();
    const second = await service('receiver', env);
    await delivering;
    await deliverAll(sender);
    expect(await booked(prefix)).toEqual(onceEach(RECEIVER_POINTS));

    const more = await sender.ask<string[]>(
      'add',
      SENDER_POINTS.map((point) => prefix + point),
    );
    const [sending, underWay, answered] = more as [string, string, string];
    await sender.ask('stopAt', { [sending]: 'sending', [answered]: 'answered' });
    await second.ask('stopAt', { [underWay]: 'reserved' });
    await makeDue(database);
    const abandoned = sender.ask('deliver').catch(() => undefined);
    await Promise.all([stopped(sender, 2), stopped(second, 1)]);
    await sender.kill();
    await abandoned;
    await second.ask('goOn');
    const heir = await service('sender', env);
    await deliverAll(heir);
    await Promise.all([heir.kill(), second.kill()]);
    const keys = await inboxDatabase.query(
      `SELECT status, count(*)::int FROM idempotency_keys WHERE key = ANY ($1) GROUP BY 1`,
      [[...ids, ...more]],
    );
    return { booked: await booked(prefix), keys };
  }

  it('a message takes effect once over TCP, whichever side dies where', async () => {
    const { port } = await new Promise<AddressInfo>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const address = server.address() as AddressInfo;
        server.close(() => resolve(address));
      });
    });
    expect(await killEachSide('tcp ', { TCP_PORT: String(port) })).toEqual(once);
  });

  const withRabbit = hasRabbitMq('From an outbox to an inbox') ? describe : describe.skip;
  withRabbit('with RabbitMQ', () => {
    let broker: Broker;
    beforeAll(async () => {
      broker = await startBroker();
    });
    const connections: ChannelModel[] = [];
    afterAll(async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await broker.stop();
    });
    const connected = async () => {
      const connection = await connect(broker.url);
      connections.push(connection);
      return connection;
    };

    it('a message takes effect once, whichever side dies where', async () => {
      expect(await killEachSide('rmq ', { AMQP: broker.url })).toEqual(once);
    });

    it('a server without acknowledgements is told so by name', async () => {
      const queue = `${QUEUE}-no-ack`;
      const receiver = await service('receiver', {
        AMQP: broker.url,
        QUEUE: queue,
        NO_ACK: 'true',
      });
      const connection = await connected();
      const channel = await connection.createConfirmChannel();
      const content = { pattern: 'told', data: { item: 'unacknowledged' } };
      channel.sendToQueue(queue, Buffer.from(JSON.stringify(content)), { messageId: queue });
      await until(() => receiver.output.includes('settle: true needs noAck: false'));
      expect(await booked('unacknowledged')).toEqual({ '': 1 });
      await receiver.kill();
      await channel.deleteQueue(queue);
    });

    it('an event takes effect once, and leaves the queue when it has', async () => {
      const env = { AMQP: broker.url };
      const points = [...RECEIVER_POINTS, 'nowhere'];
      const receiver = await service('receiver', env);
      const connection = await connected();
      const channel = await connection.createConfirmChannel();
      const idOf = (point: string) => `event-${process.pid}-${point}`;
      await receiver.ask('stopAt', Object.fromEntries(points.map((point) => [idOf(point), point])));
      for (const point of points) {
        const content = { pattern: 'told', data: { item: `event ${point}` } };
        const options = { messageId: idOf(point), persistent: true };
        // Twice, as an application does that did not hear of the first.
        channel.sendToQueue(QUEUE, Buffer.from(JSON.stringify(content)), options);
        if (point === 'nowhere') {
          channel.sendToQueue(QUEUE, Buffer.from(JSON.stringify(content)), options);
        }
      }
      await channel.waitForConfirms();
      await stopped(receiver, RECEIVER_POINTS.length);
      await receiver.kill();
      await forgetTheDead();
      const second = await service('receiver', env);
      await until(async () => Object.keys(await booked('event ')).length === points.length);
      expect(await booked('event ')).toEqual(onceEach(points));
      // What is not acknowledged comes back to the queue when its consumer is gone.
      await until(async () => {
        const rows = await inboxDatabase.query(
          "SELECT 1 FROM idempotency_keys WHERE key LIKE 'event-%' AND status <> 'completed'",
        );
        return rows.length === 0;
      });
      // One that found the other under way is held for a moment, and comes again.
      for (let consumer = second; ; consumer = await service('receiver', env)) {
        await until(async () => (await channel.checkQueue(QUEUE)).messageCount === 0);
        await consumer.terminate();
        await until(async () => (await channel.checkQueue(QUEUE)).consumerCount === 0);
        if ((await channel.checkQueue(QUEUE)).messageCount === 0) break;
      }
      await channel.deleteQueue(QUEUE);
    });
  });
});
