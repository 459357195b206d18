import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, type IdempotencyModuleOptions } from 'nestjs-atomic-idempotency';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { TestDatabase } from '../support/database.js';
import { createAdapter } from '../support/listen.js';
import { recordingLogger } from '../support/recording-logger.js';

export interface Boot {
  database: TestDatabase;
  /** Any value at all: JavaScript callers make mistakes that types would have caught. */
  idempotency?: Record<string, unknown>;
  dataSource?: Partial<DataSourceOptions> & { autoLoadEntities?: boolean };
  /** @default the default data source */
  dataSourceName?: string;
  /** Instead of one `IdempotencyModule.forRoot()`. */
  imports?: ModuleMetadata['imports'];
  controllers?: ModuleMetadata['controllers'];
  providers?: ModuleMetadata['providers'];
}

/** Starts an application that must not start, and returns the reason that it gives. */
export async function bootFailure(boot: Boot): Promise<Error> {
  let connecting: Promise<DataSource> | undefined;
  let over = false;
  let app: INestApplication | undefined;
  const options = { scope: 'global', ...boot.idempotency } as IdempotencyModuleOptions;
  try {
    const testing = await Test.createTestingModule({
      imports: [
        TypeOrmModule.forRootAsync({
          ...(boot.dataSourceName !== undefined && { name: boot.dataSourceName }),
          useFactory: () => ({
            ...boot.database.dataSourceOptions,
            autoLoadEntities: true,
            retryAttempts: 0,
            ...(boot.dataSource as object),
          }),
          // Known here, so that it can be closed: an application that fails while
          // it connects leaves the connection behind, or connects even later.
          dataSourceFactory: (settings) => {
            if (over) throw new Error('The boot has failed already.');
            return (connecting = new DataSource(settings!).initialize());
          },
        }),
        ...(boot.imports ?? [IdempotencyModule.forRoot(options)]),
      ],
      controllers: boot.controllers ?? [],
      providers: boot.providers ?? [],
    })
      .setLogger(recordingLogger())
      .compile();
    app = testing.createNestApplication(await createAdapter('express'));
    await app.init();
  } catch (error) {
    return error as Error;
  } finally {
    over = true;
    await app?.close();
    const dataSource = await connecting?.catch(() => undefined);
    if (dataSource?.isInitialized) await dataSource.destroy();
  }
  throw new Error('The application started.');
}
