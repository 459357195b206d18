import { Controller, Post } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, IdempotencyOperator, Idempotent, Outbox } from 'nestjs-atomic-idempotency';
import {
  idempotencyMigrations,
  idempotencyMigrationsIn,
} from 'nestjs-atomic-idempotency/migrations';
import { DataSource, DefaultNamingStrategy } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { onEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

/** As snake-case strategies do, and further than most: upper case shows what has no name of its own. */
class ShoutingStrategy extends DefaultNamingStrategy {
  override tableName(_className: string, given: string | undefined): string {
    return `T_${(given ?? '').toUpperCase()}`;
  }

  override columnName(property: string, given: string, prefixes: string[]): string {
    return given || super.columnName(property.toUpperCase(), given, prefixes);
  }

  override indexName(table: string, columns: string[], where?: string): string {
    return `I${super.indexName(table, columns, where)}`;
  }
}

/** Goes by the name of the class, whatever the entity says. */
class ClassNames extends DefaultNamingStrategy {
  override tableName(className: string): string {
    return className;
  }
}

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

type Options = Record<string, unknown>;

const namings: [string, Options, string, string | undefined][] = [
  ['an entityPrefix', { entityPrefix: 'shop_' }, '"shop_idempotency_keys"', undefined],
  [
    'a naming strategy',
    { namingStrategy: new ShoutingStrategy(), entityPrefix: 'Shop ' },
    '"Shop T_IDEMPOTENCY_KEYS"',
    undefined,
  ],
  [
    'a naming strategy that goes by classes',
    { namingStrategy: new ClassNames() },
    '"IdempotencyKey"',
    undefined,
  ],
  [
    'a schema of their own and an entityPrefix',
    { entityPrefix: 'shop_' },
    '"ledger"."shop_idempotency_keys"',
    'ledger',
  ],
  [
    'a schema of their own and a naming strategy that goes by classes',
    { namingStrategy: new ClassNames() },
    '"ledger"."IdempotencyKeyInSchema"',
    'ledger',
  ],
];

const isAbout = (schema: string | undefined) => (sql: string) =>
  sql.includes('"ledger"') === (schema === 'ledger');

describe('Table names of the data source', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
  });
  afterEach(() => database.drop());

  onEachPlatform((platform) => {
    const start = (dataSource: Options, schema?: string): Promise<IdempotentApp> =>
      startIdempotentApp(platform, {
        database,
        dataSource: { retryAttempts: 0, ...dataSource },
        idempotency: (schema === undefined ? {} : { schema }) as object,
        controllers: [OrdersController],
      });

    /** Uses every table, and each kind of statement that a request and the jobs send. */
    async function expectToServe(app: IdempotentApp, table: string): Promise<void> {
      const key = 'k';
      expect((await send(`${app.url}/orders`, { key })).status).toBe(201);
      const retry = await send(`${app.url}/orders`, { key });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      for (const job of ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'] as const) {
        await runJob(app, job);
      }
      const operator = app.app.get(IdempotencyOperator, { strict: false });
      const { keys } = await operator.find({ key });
      expect(await operator.inspect(keys[0]!.id)).toMatchObject({ key, phases: [{}, {}] });
      expect(await operator.expire(keys[0]!.id, 'tests')).toMatchObject({ changed: true });
      expect(await database.query(`SELECT status FROM ${table}`)).toEqual([{ status: 'expired' }]);
    }

    it.each(namings)('are used by the migrations: %s', async (_, options, table, schema) => {
      const migrations =
        schema === undefined ? idempotencyMigrations : idempotencyMigrationsIn(schema);
      const app = await start({ ...options, migrations, migrationsRun: true }, schema);
      await expectToServe(app, table);
      const { upQueries } = await app.app.get(DataSource).driver.createSchemaBuilder().log();
      // Nest loads the entities of all modules that this process has made, not only this one's.
      const own = upQueries.map(({ query }) => query).filter(isAbout(schema));
      expect(own).toEqual([]);
      await app.close();
    });

    it.each(namings)('are used by synchronize: %s', async (_, options, table, schema) => {
      await database.query('CREATE SCHEMA ledger');
      const app = await start({ ...options, synchronize: true }, schema);
      await expectToServe(app, table);
      await app.close();
    });

    it('may have several prefixes in one database', async () => {
      const apps: IdempotentApp[] = [];
      for (const entityPrefix of ['', 'shop_', 'bank_']) {
        apps.push(
          await start({
            entityPrefix,
            migrationsTableName: `${entityPrefix}migrations`,
            migrations: [...idempotencyMigrations],
            migrationsRun: true,
          }),
        );
      }
      await database.query('CREATE SCHEMA ledger');
      apps.push(await start({ entityPrefix: 'club_', synchronize: true }));
      for (const [index, prefix] of ['', 'shop_', 'bank_', 'club_'].entries()) {
        await expectToServe(apps[index]!, `${prefix}idempotency_keys`);
      }
      for (const app of apps) await app.close();
    });
  });

  it('stop the boot if there are no tables with the prefix', async () => {
    const { message } = await bootFailure({ database, dataSource: { entityPrefix: 'shop_' } });
    expect(message).toContain('"shop_idempotency_keys" does not exist');
    expect(message).toContain('its own migrationsTableName');
  });

  it('stop the boot if a naming strategy renames columns that have a name', async () => {
    class Renaming extends DefaultNamingStrategy {
      override columnName(property: string, given: string, prefixes: string[]): string {
        return super.columnName(property, given, prefixes).toUpperCase();
      }
    }
    const { message } = await bootFailure({
      database,
      dataSource: { namingStrategy: new Renaming() },
    });
    expect(message).toContain('namingStrategy');
    expect(message).toContain('IdempotencyKey.id "ID"');
    expect(message).toContain('return customName where it is given');
  });
});
