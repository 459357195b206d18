import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Outbox } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { onEachPlatform } from '../support/platforms.js';

/** In the order of bytes. In English, lower and upper case are neighbours, and "_" comes first. */
const KEYS = ['B', 'Z-1', '_', 'a', 'b', 'z-1'];

@Controller()
class OrdersController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Post('orders')
  @Idempotent()
  async create(): Promise<object> {
    await this.phase.local('ordered', (tx) => this.outbox.add(tx, 'ordered', {}));
    return this.phase.foreign('charged', { call: async () => ({ charged: true }) });
  }
}

describe('A database whose default is the order of a language', () => {
  let database: TestDatabase | undefined;
  beforeAll(async () => {
    if (await canHaveLanguage()) {
      database = await createTestDatabase({ migrated: false, language: 'en-US' });
    } else {
      process.stderr.write('Skipped: it needs PostgreSQL 15 or later, built with ICU.\n');
    }
  });
  afterAll(() => database?.drop());

  onEachPlatform((platform) => {
    it('keeps its keys in the order of bytes, and each of them runs once', async () => {
      if (!database) return;
      const app = await startIdempotentApp(platform, {
        database,
        dataSource: { migrations: [...idempotencyMigrations], migrationsRun: true },
        idempotency: { scope: () => platform.name },
        controllers: [OrdersController],
      });
      for (const key of KEYS) {
        const [first, retry] = [await order(key), await order(key)];
        expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
        expect([retry.status, retry.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
      }
      for (const job of ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'] as const) {
        await runJob(app, job);
      }

      const exported: string[] = [];
      for await (const line of operatorOf(app).export(platform.name)) {
        const { type, key } = JSON.parse(line) as { type: string; key: string };
        if (type === 'key') exported.push(key);
      }
      expect(exported).toEqual(KEYS);
      // The same texts in the order of the database.
      const rows = await database.query('SELECT k FROM unnest($1::text[]) k ORDER BY k', [KEYS]);
      expect(rows.map(({ k }) => k)).toEqual(['_', 'a', 'b', 'B', 'z-1', 'Z-1']);
      const { upQueries } = await app.app.get(DataSource).driver.createSchemaBuilder().log();
      expect(upQueries).toEqual([]);
      await app.close();

      function order(key: string) {
        return send(`${app.url}/orders`, { key });
      }
    });
  });
});

async function canHaveLanguage(): Promise<boolean> {
  const other = await createTestDatabase({ migrated: false });
  const [row] = await other.query<{ can: boolean }>(
    `SELECT current_setting('server_version_num')::int >= 150000
        AND EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS can`,
  );
  await other.drop();
  return row!.can;
}
