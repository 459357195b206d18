import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { Maintenance } from '../background/maintenance.js';
import { IdempotencySettings } from '../idempotency.settings.js';
import { Database } from '../postgres/database.js';
import { DATA_SOURCE } from '../tokens.js';
import type { CrashSafetyOptions } from './crash-safety.options.js';
import { KitClient } from './kit-client.js';
import { Director } from './runs/director.js';
import { KeyClockStore } from './runs/key-clock-store.js';
import { RunPerformer } from './runs/run-performer.js';
import { ChangesStore } from './world/changes-store.js';
import { ownTables } from './world/own-tables.js';
import { World } from './world/world.js';

/** What the kit needs of an application, put in place and taken away again. */
export interface Kit {
  performer: RunPerformer;
  close(): Promise<void>;
}

export async function openKit(app: INestApplication, options: CrashSafetyOptions): Promise<Kit> {
  const settings = app.get(IdempotencySettings, { strict: false });
  const database = app.get(Database, { strict: false });
  const own = ownTables(app);
  const client = await KitClient.of(app, settings.header);
  const dataSources = dataSourcesOf(app);
  const world = await openWorld(dataSources, own, database, options);
  const names = own.map((table) => table.split('.').at(-1)!.replaceAll('"', ''));
  const director = new Director(
    dataSources,
    (sql) => names.some((name) => sql.includes(name)),
    hostMatcher(options.ignore?.hosts ?? []),
  );
  const performer = new RunPerformer({
    client,
    director,
    world,
    options,
    keys: new KeyClockStore(database),
    maintenance: app.get(Maintenance, { strict: false }),
    timeout: options.timeout ?? 5_000,
  });
  return {
    performer,
    async close() {
      director.close();
      await performer.retire();
      await world.close();
    },
  };
}

async function openWorld(
  dataSources: readonly DataSource[],
  own: readonly string[],
  database: Database,
  { ignore }: CrashSafetyOptions,
): Promise<World> {
  const outbox = database.table('idempotency_outbox');
  const ignored = new Set(ignore?.tables);
  const stores: ChangesStore[] = [];
  try {
    for (const dataSource of await distinct(dataSources)) {
      const first = stores.length === 0;
      stores.push(
        await ChangesStore.open(
          dataSource,
          first ? own : [],
          first ? outbox : undefined,
          ({ schema, relation }) => ignored.has(relation) || ignored.has(`${schema}.${relation}`),
        ),
      );
    }
  } catch (error) {
    for (const store of stores) await store.close();
    throw error;
  }
  return new World(stores, outbox, ignore?.columns ?? []);
}

/** All data sources of the application, the library's own first. */
function dataSourcesOf(app: INestApplication): DataSource[] {
  const own = app.get<DataSource>(DATA_SOURCE, { strict: false });
  const found = new Set([own]);
  for (const { providers } of app.get(ModulesContainer).values()) {
    for (const { instance } of providers.values()) {
      if (isPostgres(instance)) found.add(instance);
    }
  }
  return [...found];
}

function isPostgres(instance: unknown): instance is DataSource {
  const { driver, isInitialized, options } = (instance ?? {}) as Partial<DataSource>;
  return driver !== undefined && isInitialized === true && options?.type === 'postgres';
}

/** Two data sources on one database are one. */
async function distinct(dataSources: readonly DataSource[]): Promise<DataSource[]> {
  const found = new Map<string, DataSource>();
  for (const dataSource of dataSources) {
    const [row] = await dataSource.query<Record<string, unknown>[]>(
      `SELECT current_database() AS database, inet_server_addr() AS address,
              inet_server_port() AS port, pg_postmaster_start_time() AS started`,
    );
    const id = JSON.stringify(row);
    if (!found.has(id)) found.set(id, dataSource);
  }
  return [...found.values()];
}

function hostMatcher(hosts: readonly string[]): (origin: string) => boolean {
  return (origin) => {
    const withPort = origin.replace(/^\w+:\/\//, '');
    return hosts.includes(withPort) || hosts.includes(withPort.replace(/:\d+$/, ''));
  };
}
