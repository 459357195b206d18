import { join, relative } from 'node:path';
import { providePostgres } from './database/embedded-postgres.mjs';
import { migrate } from './database/migrate.js';
import { RemoteControl } from './payment-provider/remote-control.js';
import { webhookEndpoint } from './payments/webhook-endpoint.js';
import { whenAskedToEnd } from './processes/asked-to-end.js';
import { startApp, startPaymentProvider } from './processes/rocket-rides.js';
import { UndoList } from './processes/undo-list.js';
import { thingsToTry } from './things-to-try.js';

/**
 * `npm start`: database, payment provider and app, in this order, until Ctrl-C.
 * The data stays, so that you can stop in the middle of a story, start again, and
 * see that nothing was forgotten.
 */
const FOLDER = join(process.cwd(), '.postgres');
const LEDGER = join(FOLDER, 'payment-ledger.jsonl');

const undo = new UndoList();
const askedToEnd = whenAskedToEnd();

async function startEverything(): Promise<never> {
  const platform = process.argv.includes('--fastify') ? 'fastify' : 'express';
  const graphql = process.argv.includes('--graphql');
  const amqpUrl = process.argv.includes('--rabbitmq')
    ? (process.env['AMQP_URL'] ?? 'amqp://127.0.0.1')
    : undefined;
  const postgres = await providePostgres({ folder: FOLDER });
  undo.add(() => postgres.stop());
  await migrate(postgres.url);

  const provider = await startPaymentProvider(LEDGER, 'show');
  undo.add(() => provider.stop());

  const port = Number(process.env['PORT'] ?? 3000);
  const urls = { databaseUrl: postgres.url, paymentsUrl: provider.url };
  const app = await startApp({ ...urls, platform, port, graphql, amqpUrl }, 'show');
  undo.add(() => app.stop());
  await new RemoteControl(provider.url).tellBy(webhookEndpoint(app.url));

  const ledger = relative(process.cwd(), LEDGER);
  const addresses = { appUrl: app.url, providerUrl: provider.url, ledger };
  console.log(thingsToTry({ platform, graphql, amqpUrl, ...addresses }));
  await Promise.race([app.exited, provider.exited]);
  throw new Error('A process of the sample has ended by itself.');
}

try {
  await Promise.race([askedToEnd, startEverything()]);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
await undo.run();
// What was still starting ends with us: its channel to this process closes.
process.exit();
