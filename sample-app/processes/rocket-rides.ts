import type { Configuration } from '../configuration.js';
import { startProcess, type ProcessOptions, type RunningProcess } from './child-process.js';

/** The app, as one process of possibly several. */
export function startApp(
  configuration: Partial<Configuration> & Pick<Configuration, 'databaseUrl' | 'paymentsUrl'>,
  output: ProcessOptions['output'],
): Promise<RunningProcess> {
  return startProcess(new URL('../main.js', import.meta.url), {
    env: {
      DATABASE_URL: configuration.databaseUrl,
      PAYMENTS_URL: configuration.paymentsUrl,
      PLATFORM: configuration.platform,
      PORT: configuration.port?.toString(),
      LEASE: configuration.lease,
      GRAPHQL: configuration.graphql ? 'on' : undefined,
      BOOKINGS: configuration.amqpUrl,
    },
    output,
  });
}

/** The payment provider, which keeps its books in the file `ledger`. */
export function startPaymentProvider(
  ledger: string,
  output: ProcessOptions['output'],
): Promise<RunningProcess> {
  // A free port: PORT of our environment is meant for the app.
  return startProcess(new URL('../payment-provider/main.js', import.meta.url), {
    env: { LEDGER: ledger, PORT: '0' },
    output,
  });
}
