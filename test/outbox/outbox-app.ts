import type { INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { afterAll } from '@jest/globals';
import {
  IdempotencyModule,
  Maintenance,
  Outbox,
  OutboxHandler,
  type DeliveredMessage,
  type IdempotencyModuleOptions,
  type OutboxMessageOptions,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recordingLogger, type RecordingLogger } from '../support/recording-logger.js';

export type Handler = (message: DeliveredMessage<any>) => unknown;

export interface OutboxAppOptions extends Omit<ModuleMetadata, 'exports'> {
  /** What the process does with the messages of each topic. */
  handlers?: Record<string, Handler>;
  /** @default no job runs by itself */
  idempotency?: Partial<IdempotencyModuleOptions>;
  dataSource?: Record<string, unknown>;
  /** A database that other applications use as well; it is then not dropped here. */
  database?: TestDatabase;
}

export interface OutboxApp {
  context: INestApplicationContext;
  database: TestDatabase;
  dataSource: DataSource;
  outbox: Outbox;
  logger: RecordingLogger;
  /** Adds a message in a transaction of its own. */
  add(topic: string, payload?: unknown, options?: OutboxMessageOptions): Promise<string>;
  /** Claims one batch, delivers it to the end, and returns how many messages it had. */
  deliver(): Promise<number>;
  /** Without the database where others use it. */
  close(): Promise<void>;
}

const running = new Set<OutboxApp>();
afterAll(async () => {
  await Promise.all([...running].map((app) => app.close()));
});

/** A process of an application that has an outbox and no web server. */
export async function startOutboxApp(options: OutboxAppOptions = {}): Promise<OutboxApp> {
  const { handlers = {}, idempotency, dataSource, database: shared, ...module } = options;
  const database = shared ?? (await createTestDatabase());
  const logger = recordingLogger();
  const context = await Test.createTestingModule({
    ...module,
    imports: [
      TypeOrmModule.forRoot({
        ...database.dataSourceOptions,
        autoLoadEntities: true,
        ...dataSource,
      }),
      IdempotencyModule.forRoot({ scope: 'global', maintenance: false, ...idempotency }),
      ...(module.imports ?? []),
    ],
    providers: [handlersOf(handlers), ...(module.providers ?? [])],
  })
    .setLogger(logger)
    .compile();
  await context.init();

  const source = context.get(DataSource);
  const outbox = context.get(Outbox);
  const app: OutboxApp = {
    context,
    database,
    dataSource: source,
    outbox,
    logger,
    add: (topic, payload, messageOptions) =>
      source.transaction((tx) => outbox.add(tx, topic, payload, messageOptions)),
    deliver: () => context.get(Maintenance, { strict: false }).runOnce('outbox'),
    async close() {
      if (!running.delete(app)) return;
      await context.close();
      if (!shared) await database.drop();
    },
  };
  running.add(app);
  return app;
}

/** Settings with which the outbox, and nothing else, works by itself. */
export function working(
  outbox: { interval?: string; maxInterval?: string; batch?: number } = {},
): Pick<IdempotencyModuleOptions, 'maintenance'> {
  return {
    maintenance: {
      sweeper: false,
      reaper: false,
      completer: false,
      reconciler: false,
      outbox: { interval: '20ms', ...outbox },
    },
  };
}

function handlersOf(handlers: Record<string, Handler>): Type {
  class Handlers {}
  for (const [topic, handler] of Object.entries(handlers)) {
    const descriptor = { configurable: true, writable: true, value: handler };
    OutboxHandler(topic)(Handlers.prototype, topic, descriptor);
    Object.defineProperty(Handlers.prototype, topic, descriptor);
  }
  return Handlers;
}
