import { Controller, type INestMicroservice } from '@nestjs/common';
import {
  ClientsModule,
  MessagePattern,
  Payload,
  Transport,
  type ClientProxy,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  IdempotencyModule,
  Maintenance,
  microserviceTransport,
  Outbox,
  OutboxHandler,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import type { AddressInfo, Server } from 'node:net';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recordingLogger } from '../support/recording-logger.js';
import { makeDue, message, messages } from './messages.js';

const received: Record<string, unknown>[] = [];
let trouble: Error | undefined;

/** Another service of the company, reached over TCP. */
@Controller()
class ReceiptsController {
  @MessagePattern('receipts.send')
  send(@Payload() sent: Record<string, unknown>) {
    if (trouble) throw trouble;
    received.push(sent);
    return { sent: true };
  }

  @MessagePattern('receipts.forget')
  forget() {
    received.push({ forgotten: true }); // answers nothing
  }
}

class LocalHandlers {
  readonly counted: unknown[] = [];

  @OutboxHandler('statistics.count')
  count({ payload }: DeliveredMessage) {
    this.counted.push(payload);
  }
}

let database: TestDatabase;
let receipts: INestMicroservice;
let port: number;

async function startReceipts(on: number): Promise<void> {
  const module = await Test.createTestingModule({ controllers: [ReceiptsController] })
    .setLogger(recordingLogger())
    .compile();
  receipts = module.createNestMicroservice({
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: on },
  });
  await receipts.listen();
  port = (receipts.unwrap<Server>().address() as AddressInfo).port;
}

async function startApp(topics?: string[]) {
  const context = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
      IdempotencyModule.forRootAsync({
        imports: [
          ClientsModule.register([
            { name: 'RECEIPTS', transport: Transport.TCP, options: { host: '127.0.0.1', port } },
          ]),
        ],
        inject: ['RECEIPTS'],
        useFactory: (client: ClientProxy) => ({
          scope: 'global',
          maintenance: false,
          outbox: { transport: microserviceTransport(client, topics) },
        }),
      }),
    ],
    providers: [LocalHandlers],
  })
    .setLogger(recordingLogger())
    .compile();
  await context.init();
  const outbox = context.get(Outbox);
  return {
    add: (topic: string, payload?: unknown) =>
      context.get(DataSource).transaction((tx) => outbox.add(tx, topic, payload)),
    deliver: () => context.get(Maintenance, { strict: false }).runOnce('outbox'),
    counted: context.get(LocalHandlers).counted,
    close: () => context.close(),
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  await startReceipts(0);
});
beforeEach(async () => {
  await database.query('TRUNCATE idempotency_outbox');
  received.length = 0;
  trouble = undefined;
});
afterAll(async () => {
  await receipts.close();
  await database.drop();
});

describe('The transport to a microservice over TCP', () => {
  let app: Awaited<ReturnType<typeof startApp>>;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('delivers a message under its id, and the message is done when it was answered', async () => {
    const id = await app.add('receipts.send', { ride: 7 });
    const { created_at: createdAt } = (await message(database, id))!;
    expect(await app.deliver()).toBe(1);
    expect(received).toEqual([
      {
        id,
        topic: 'receipts.send',
        payload: { ride: 7 },
        attempt: 1,
        createdAt: createdAt.toISOString(),
      },
    ]);
    expect(await messages(database)).toEqual([]);
  });

  it('accepts an answer without content', async () => {
    await app.add('receipts.forget');
    await app.deliver();
    expect(received).toEqual([{ forgotten: true }]);
    expect(await messages(database)).toEqual([]);
  });

  it('delivers a message that failed there again under the same id', async () => {
    trouble = new Error('out of paper');
    const id = await app.add('receipts.send');
    await app.deliver();
    expect(await message(database, id)).toMatchObject({ attempts: 1, lease_token: null });
    trouble = undefined;
    await makeDue(database, id);
    await app.deliver();
    expect(received).toMatchObject([{ id, attempt: 2 }]);
  });

  it('treats a pattern without a handler there as a failure', async () => {
    const id = await app.add('receipts.unknown');
    await app.deliver();
    expect((await message(database, id))!.last_error).toMatch(/no matching message handler/i);
  });

  it('does not take topics that have a handler in this process', async () => {
    await app.add('statistics.count', 1);
    await app.deliver();
    expect(app.counted).toEqual([1]);
    expect(received).toEqual([]);
  });

  it('loses nothing while the other side is down', async () => {
    await receipts.close();
    const id = await app.add('receipts.send');
    expect(await app.deliver()).toBe(1);
    expect(await message(database, id)).toMatchObject({ attempts: 1, dead_at: null });
    await startReceipts(port);
    await makeDue(database, id);
    await app.deliver();
    expect(received).toMatchObject([{ id, attempt: 2 }]);
    expect(await messages(database)).toEqual([]);
  });
});

describe('A transport that names its topics', () => {
  it('leaves other topics to other processes', async () => {
    const app = await startApp(['receipts.send']);
    await app.add('receipts.send');
    const other = await app.add('mails');
    expect(await app.deliver()).toBe(1);
    expect(await messages(database)).toMatchObject([{ id: other, attempts: 0 }]);
    await app.close();
  });
});
