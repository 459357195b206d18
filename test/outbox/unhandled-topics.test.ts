import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { PlainCiphers } from '../../lib/encryption/plain-cipher.js';
import { Database } from '../../lib/postgres/database.js';
import { DeliveryStore } from '../../lib/outbox/delivery-store.js';
import { UnhandledTopics } from '../../lib/outbox/unhandled-topics.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { recordingLogger } from '../support/recording-logger.js';

let database: TestDatabase;
let dataSource: DataSource;
let store: DeliveryStore;
const logger = recordingLogger();

beforeAll(async () => {
  Logger.overrideLogger(logger);
  database = await createTestDatabase();
  dataSource = await new DataSource({ ...database.dataSourceOptions }).initialize();
  store = new DeliveryStore(new Database(dataSource, 10_000), new PlainCiphers());
  await database.query(
    `INSERT INTO idempotency_outbox (id, topic, available_at, dead_at)
     VALUES (gen_random_uuid(), 'old.mails', now() - interval '2 minutes', NULL),
            (gen_random_uuid(), 'old.mails', now() - interval '2 minutes', NULL),
            (gen_random_uuid(), 'orders', now() - interval '2 minutes', NULL),
            (gen_random_uuid(), 'new.mails', now() - interval '2 seconds', NULL),
            (gen_random_uuid(), 'dead.mails', now() - interval '2 minutes', now())`,
  );
});
beforeEach(() => {
  logger.warnings.length = 0;
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

describe('Messages without a handler', () => {
  it('are found if they have waited for long, and no others', async () => {
    expect(await store.overdueTopics(['orders'], 60_000)).toEqual([
      { topic: 'old.mails', count: 2 },
    ]);
  });

  it('are reported once per topic', async () => {
    const unhandled = new UnhandledTopics(store, 0);
    await unhandled.report(['orders']);
    await unhandled.report(['orders']);
    expect(logger.warnings.filter((text) => text.includes('old.mails'))).toEqual([
      expect.stringMatching(
        /^2 message\(s\) for "old\.mails" wait, .* @OutboxHandler\('old\.mails'\)/,
      ),
    ]);
  });

  it('are not looked for by a process that has just started, nor by one that delivers every topic', async () => {
    await new UnhandledTopics(store).report(['orders']);
    await new UnhandledTopics(store, 0).report(undefined);
    expect(logger.warnings).toEqual([]);
  });
});
