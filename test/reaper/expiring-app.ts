import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { send, type Received } from '../support/http.js';
import {
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform, type Platform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { passTime } from '../support/time.js';

export interface ExpiringApp extends IdempotentApp {
  ask(path: string, key: string): Promise<Received>;
  /** Lets a day and an hour pass for some keys: past the retention of their routes. */
  outlive(...keys: string[]): Promise<void>;
  reap(): Promise<number>;
  /** The status of each key that is left, by key. */
  left(): Promise<Record<string, string>>;
  logs: string[];
}

/** The routes of an application whose keys expire. Each handler answers with the number of its execution. */
export const routes = new PolicyRoutes({
  orders: {},
  gone: { onExpired: 'gone' },
  forever: { retention: 'forever' },
  unknown: { onServerError: 'unknown' },
});

/** Runs the tests of one subject on both HTTP adapters, each without keys of an earlier test. */
export function describeExpiry(
  subject: string,
  tests: (app: ExpiringApp, platform: Platform) => void,
  options: IdempotentAppOptions = {},
): void {
  forEachPlatform(subject, (platform) => {
    const app = {} as ExpiringApp;
    beforeAll(async () => {
      Object.assign(app, await startExpiringApp(platform, options));
    });
    beforeEach(async () => {
      await app.database.query('DELETE FROM idempotency_keys');
      app.logs.length = 0;
      routes.answers((execution) => ({ execution }));
    });
    afterAll(() => (app as Partial<ExpiringApp>).close?.());
    tests(app, platform);
  });
}

export async function startExpiringApp(
  platform: Platform,
  options: IdempotentAppOptions = {},
): Promise<ExpiringApp> {
  const logs: string[] = [];
  const keep = (message: unknown) => void logs.push(String(message));
  const app = await startIdempotentApp(platform, {
    logger: { log: () => undefined, warn: keep, error: keep },
    ...options,
    controllers: [routes.controller, ...(options.controllers ?? [])],
  });
  return {
    ...app,
    logs,
    ask: (path, key) => send(`${app.url}/${path}`, { key }),
    async outlive(...keys) {
      for (const key of keys) await passTime(app.database, key, '25 hours');
    },
    reap: () => runJob(app, 'reaper'),
    async left() {
      const rows = await app.database.query<{ key: string; status: string }>(
        'SELECT key, status FROM idempotency_keys ORDER BY key',
      );
      return Object.fromEntries(rows.map(({ key, status }) => [key, status]));
    },
  };
}

/** What a handler does that fails. */
export function fail(): never {
  throw new Error('a bug');
}
