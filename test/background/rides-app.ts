import type { LoggerService } from '@nestjs/common';
import type { IdempotencyModuleOptions, IdempotencyPolicy } from 'nestjs-atomic-idempotency';
import { crashAt, crashIn } from '../support/crash.js';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import type { Platform } from '../support/platforms.js';
import { Provider, Rides, ridesController, type Ride } from './rides.js';

export interface RidesApp extends IdempotentApp {
  provider: Provider;
  rides: Rides;
  request(key: string, ride?: Ride): Promise<Received>;
  /** A request whose process dies at a fault point, long ago. */
  crash(point: string, key: string, ride?: Ride): Promise<void>;
  /** The next attempt of a worker dies at a fault point, and gives no sign of life since. */
  crashWorker(point: string, key: string): Promise<void>;
  countRides(): Promise<number>;
}

const MARS: Ride = { target: 'mars' };

export async function startRides(
  platform: Platform,
  policy: IdempotencyPolicy = {},
  idempotency: Partial<IdempotencyModuleOptions> & { statusPath?: string } = {},
  logger: LoggerService | false = false,
): Promise<RidesApp> {
  const provider = new Provider();
  const app = await startIdempotentApp(platform, {
    controllers: [ridesController(policy)],
    providers: [Rides, { provide: Provider, useValue: provider }],
    idempotency,
    logger,
  });
  await app.database.query('CREATE TABLE rides (id serial, target text)');
  const url = `${app.url}/rides`;
  return {
    ...app,
    provider,
    rides: app.app.get(Rides),
    request: (key, ride = MARS) => send(url, { key, body: ride }),
    async crash(point, key, ride = MARS) {
      await crashAt(point, url, { key, body: ride });
      await age(app.database, key);
    },
    async crashWorker(point, key) {
      await age(app.database, key);
      await crashIn(point, () => runJob(app, 'completer'));
      await age(app.database, key);
    },
    async countRides() {
      return (await app.database.query('SELECT * FROM rides')).length;
    },
  };
}
