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
  /** @param url of the database, where it is not to be reached directly */
  startWorker(url?: string): Promise<ServerProcess>;
  /** How often the provider has charged for a message. */
  chargesFor(message: string): Promise<number>;
  close(): Promise<void>;
}

export async function createCompany(): Promise<Company> {
  const [web, provider] = await Promise.all([startOutboxApp(), startPaymentProvider()]);
  const { database } = web;
  return {
    database,
    web,
    provider,
    startWorker: (url = database.url) =>
      startServer('test/servers/outbox-worker', {
        env: { DATABASE: url, PROVIDER: provider.url },
      }),
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
