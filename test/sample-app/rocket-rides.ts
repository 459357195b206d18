import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppModule } from '../../sample-app/app.module.js';
import type { Configuration } from '../../sample-app/configuration.js';
import { migrate } from '../../sample-app/database/migrate.js';
import { RemoteControl } from '../../sample-app/payment-provider/remote-control.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import type { Platform } from '../support/platforms.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

export interface RideRequest {
  key?: string;
  body?: object;
  token?: string;
}

export interface RocketRides {
  database: TestDatabase;
  control: RemoteControl;
  url: string;
  post(path: string, request: RideRequest): Promise<Received>;
  stopProvider(): Promise<void>;
  /** On the same port, with the same ledger. */
  startProvider(): Promise<void>;
  close(): Promise<void>;
}

/** The sample app in this process, with a database and a payment provider of its own. */
export async function startRocketRides(
  platform: Platform,
  overrides: Partial<Configuration> = {},
): Promise<RocketRides> {
  const database = await createTestDatabase();
  await migrate(database.url);
  const folder = await mkdtemp(join(tmpdir(), 'rocket-rides-'));
  const startProvider = (port?: number): Promise<ServerProcess> =>
    startServer('sample-app/payment-provider/main', {
      port,
      env: { LEDGER: join(folder, 'ledger.jsonl') },
    });
  let provider = await startProvider();
  const { url: paymentsUrl } = provider;
  const configuration: Configuration = {
    platform: platform.name,
    port: 0,
    databaseUrl: database.url,
    paymentsUrl,
    paymentsTimeoutMs: 30_000,
    lease: '30s',
    ...overrides,
  };
  // Not a sound: the tests provoke errors that the app is right to log.
  const app = await platform.start(
    { imports: [AppModule.forRoot(configuration)] },
    { logger: false },
  );
  return {
    database,
    control: new RemoteControl(paymentsUrl),
    url: app.url,
    post: (path, { key, body, token = 'token-of-ada' }) =>
      send(`${app.url}${path}`, { key, body, headers: { authorization: `Bearer ${token}` } }),
    stopProvider: () => provider.terminate(),
    async startProvider() {
      provider = await startProvider(Number(new URL(paymentsUrl).port));
    },
    async close() {
      await app.close();
      await provider.terminate();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
