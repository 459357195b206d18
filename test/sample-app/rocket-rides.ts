import type { INestApplication, Type } from '@nestjs/common';
import { AppModule } from '../../sample-app/app.module.js';
import type { Configuration } from '../../sample-app/configuration.js';
import { migrate } from '../../sample-app/database/migrate.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import type { Platform, TestApp } from '../support/platforms.js';
import { startPaymentProvider, type PaymentProvider } from './payment-provider-process.js';

export interface RideRequest {
  key?: string;
  body?: object;
  token?: string;
}

export interface RocketRides {
  app: INestApplication;
  database: TestDatabase;
  provider: PaymentProvider;
  url: string;
  post(path: string, request: RideRequest): Promise<Received>;
  /**
   * Another process of the app, as it were: with the same database and provider.
   *
   * @param waysIn what else than HTTP routes leads to its rides
   * @param module the app, if it is not the one that is imported here
   */
  startAnother(
    overrides: Partial<Configuration>,
    waysIn?: Type[],
    module?: typeof AppModule,
  ): Promise<TestApp>;
  close(): Promise<void>;
}

/** The sample app in this process, with a database and a payment provider of its own. */
export async function startRocketRides(
  platform: Platform,
  overrides: Partial<Configuration> = {},
): Promise<RocketRides> {
  const database = await createTestDatabase();
  await migrate(database.url);
  const provider = await startPaymentProvider();
  const configuration: Configuration = {
    platform: platform.name,
    port: 0,
    databaseUrl: database.url,
    paymentsUrl: provider.url,
    paymentsTimeoutMs: 30_000,
    lease: '30s',
    ...overrides,
  };
  const start = (settings: Configuration, waysIn: Type[] = [], module = AppModule) =>
    platform.start(
      { imports: [module.forRoot(settings, waysIn)] },
      // The tests provoke errors that the app is right to log, and nobody needs to read.
      { logger: false, rawBody: true },
    );
  const app = await start(configuration);
  return {
    app: app.app,
    database,
    provider,
    url: app.url,
    post: (path, { key, body, token = 'token-of-ada' }) =>
      send(`${app.url}${path}`, { key, body, headers: { authorization: `Bearer ${token}` } }),
    startAnother: (others, waysIn, module) =>
      start({ ...configuration, ...others }, waysIn, module),
    async close() {
      await app.close();
      await provider.close();
      await database.drop();
    },
  };
}
