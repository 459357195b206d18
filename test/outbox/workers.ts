import {
  startPaymentProvider,
  type PaymentProvider,
} from '../sample-app/payment-provider-process.js';
import type { TestDatabase } from '../support/database.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { startOutboxApp, type OutboxApp } from './outbox-app.js';

/** What several worker processes share. */
export interface Company {
  database: TestDatabase;
  /** Adds messages and delivers none. */
  web: OutboxApp;
  provider: PaymentProvider;
  startWorker(): Promise<ServerProcess>;
  /** One that looks for messages only when it is told to: `ask('look')`. */
  startObedientWorker(databaseUrl: string): Promise<ServerProcess>;
  /** How often the provider has charged for a message. */
  chargesFor(message: string): Promise<number>;
  close(): Promise<void>;
}

export async function createCompany(): Promise<Company> {
  const [web, provider] = await Promise.all([startOutboxApp(), startPaymentProvider()]);
  const { database } = web;
  const start = (env: Record<string, string>) =>
    startServer('test/servers/outbox-worker', { env: { PROVIDER: provider.url, ...env } });
  return {
    database,
    web,
    provider,
    startWorker: () => start({ DATABASE: database.url }),
    startObedientWorker: (databaseUrl) => start({ DATABASE: databaseUrl, INTERVAL: '1h' }),
    async chargesFor(message) {
      const charges = await provider.control.charges();
      return charges.filter(({ idempotencyKey }) => idempotencyKey === message).length;
    },
    async close() {
      await provider.close();
      await web.close();
    },
  };
}
