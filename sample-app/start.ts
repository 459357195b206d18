import { join } from 'node:path';
import { providePostgres } from './database/embedded-postgres.mjs';
import { migrate } from './database/migrate.js';
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
let asked = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    asked = true;
    void undo.run().then(() => process.exit(0));
  });
}

try {
  const platform = process.argv.includes('--fastify') ? 'fastify' : 'express';
  const postgres = await providePostgres({ folder: FOLDER });
  undo.add(() => postgres.stop());
  await migrate(postgres.url);

  const provider = await startPaymentProvider(LEDGER, 'show');
  undo.add(() => provider.stop());

  const app = await startApp(
    {
      platform,
      port: Number(process.env['PORT'] ?? 3000),
      databaseUrl: postgres.url,
      paymentsUrl: provider.url,
    },
    'show',
  );
  undo.add(() => app.stop());

  console.log(
    thingsToTry({ platform, appUrl: app.url, providerUrl: provider.url, ledger: LEDGER }),
  );
  await Promise.race([app.exited, provider.exited]);
  if (!asked) throw new Error('A process of the sample ended by itself; see above.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
if (!asked) await undo.run();
