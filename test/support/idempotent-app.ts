import type { ModuleMetadata, Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, type IdempotencyModuleOptions } from 'nestjs-atomic-idempotency';
import { parseDuration } from '../../lib/policy/duration.js';
import { policyOf } from '../../lib/policy/idempotent-metadata.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import type { Platform, StartOptions, TestApp } from './platforms.js';

export interface IdempotentApp extends TestApp {
  database: TestDatabase;
}

export interface IdempotentAppOptions extends StartOptions, Omit<ModuleMetadata, 'exports'> {
  /** Options of the module under test. @default { scope: 'global', maintenance: false, replayCache: false } */
  idempotency?: Partial<IdempotencyModuleOptions>;
  /** Further options of the data source, such as the size of its pool. */
  dataSource?: Record<string, unknown>;
  /** A database that other applications use as well; it is then not dropped here. */
  database?: TestDatabase;
}

/** An application with the module on a database of its own. Closing it drops the database. */
export async function startIdempotentApp(
  platform: Platform,
  {
    idempotency,
    dataSource,
    database: shared,
    imports,
    controllers,
    providers,
    ...start
  }: IdempotentAppOptions,
): Promise<IdempotentApp> {
  const database = shared ?? (await createTestDatabase());
  const server = await platform.start(
    {
      imports: [
        TypeOrmModule.forRoot({
          ...database.dataSourceOptions,
          autoLoadEntities: true,
          ...dataSource,
        }),
        // Without jobs, which would change keys while a test looks at them, and without
        // a memory, which would not notice that a test has changed them.
        IdempotencyModule.forRoot({
          scope: 'global',
          maintenance: false,
          replayCache: false,
          ...patience(idempotency, controllers),
          ...idempotency,
        }),
        ...(imports ?? []),
      ],
      controllers: controllers ?? [],
      providers: providers ?? [],
    },
    start,
  );
  return {
    ...server,
    database,
    async close() {
      await server.close();
      if (!shared) await database.drop();
    },
  };
}

/**
 * A lease must not be shorter than `storeTimeout`. Tests with short leases are
 * not about it, so there it follows the shortest one in use.
 */
function patience(
  { lease, outbox }: Partial<IdempotencyModuleOptions> = {},
  controllers: readonly Type[] = [],
): Partial<IdempotencyModuleOptions> {
  const leases = [lease, outbox?.lease];
  for (const controller of controllers) {
    const prototype = controller.prototype as Record<string, unknown>;
    const methods = Object.getOwnPropertyNames(prototype).map((name) => prototype[name]);
    for (const target of [controller, ...methods]) {
      if (typeof target === 'function') leases.push(policyOf(target)?.lease);
    }
  }
  const times = leases.flatMap((each) => (each === undefined ? [] : (parseDuration(each) ?? [])));
  const shortest = Math.min(...times);
  return shortest < 5_000 ? { storeTimeout: shortest } : {};
}

/** The row of a key, as the store sees it. */
export async function keyRow(database: TestDatabase, key: string): Promise<Record<string, any>> {
  const [row] = await database.query('SELECT * FROM idempotency_keys WHERE key = $1', [key]);
  if (!row) throw new Error(`There is no row for key ${key}.`);
  return row;
}

/** Makes the lease of a key lapse now, instead of waiting for it. */
export async function lapse(database: TestDatabase, key: string): Promise<void> {
  await database.query(
    `UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE key = $1`,
    [key],
  );
}
