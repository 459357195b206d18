import {
  startPaymentProvider,
  type PaymentProvider,
} from '../sample-app/payment-provider-process.js';
import { startRestartableServer, type RestartableServer } from '../support/restartable-server.js';

/** Rocket Rides' surroundings with a database server of their own, which may crash. */
export interface RestartableWorld extends Pick<RestartableServer, 'database' | 'crash'> {
  provider: PaymentProvider;
  close(): Promise<void>;
}

export async function createRestartableWorld(): Promise<RestartableWorld> {
  const [server, provider] = await Promise.all([startRestartableServer(), startPaymentProvider()]);
  const { database, crash } = server;
  return {
    database,
    provider,
    crash,
    async close() {
      await provider.close();
      await server.stop();
    },
  };
}
