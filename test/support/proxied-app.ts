import { createTestDatabase } from './database.js';
import {
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from './idempotent-app.js';
import type { Platform } from './platforms.js';
import { startPostgresProxy, type PostgresProxy } from './postgres-proxy.js';

export interface ProxiedApp extends IdempotentApp {
  /** Between the application and its database. The test's own queries go past it. */
  proxy: PostgresProxy;
}

/** An application whose connections to the database a test can disturb and read. */
export async function startProxiedApp(
  platform: Platform,
  options: IdempotentAppOptions,
): Promise<ProxiedApp> {
  const database = options.database ?? (await createTestDatabase());
  const proxy = await startPostgresProxy(database.url);
  const app = await startIdempotentApp(platform, {
    ...options,
    database,
    dataSource: { url: proxy.url, ...options.dataSource },
  });
  return {
    ...app,
    proxy,
    async close() {
      await app.close();
      await proxy.close();
      if (!options.database) await database.drop();
    },
  };
}
