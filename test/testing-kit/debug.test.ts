import { afterAll, beforeAll, it } from '@jest/globals';
import { Pool } from 'pg';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { createTestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { createTables } from './handlers/orders.js';
import { Provider } from './handlers/provider.js';
import { Checkout, Mailer, RightHandlers } from './handlers/right.js';
import { WrongCalls } from './handlers/wrong-calls.js';
import { WrongPhases } from './handlers/wrong-phases.js';
import { WrongWrites } from './handlers/wrong-writes.js';
forEachPlatform('debug', (platform) => {
  const provider = new Provider();
  let app: IdempotentApp;
  let pool: Pool;
  beforeAll(async () => {
    await provider.start();
    const database = await createTestDatabase();
    pool = database.pool;
    await createTables(database);
    app = await startIdempotentApp(platform, {
      controllers: [RightHandlers, WrongCalls, WrongPhases, WrongWrites],
      providers: [Checkout, Mailer, { provide: Provider, useValue: provider }, { provide: Pool, useFactory: () => pool }],
      logger: false, database,
    });
  });
  afterAll(async () => { await app.close(); await provider.close(); });
  it('debug', async () => {
    for (const path of process.env.KIT_PATHS!.split(',')) {
      const result: any = await verifyCrashSafety(app.app, { path, body: { item: 'x' } }, {unknown: 'fail'}).catch((e) => e);
      process.stdout.write(path + '\n' + (result.message ?? result.table) + '\n' + JSON.stringify((result.report ?? result).runs.slice(0,3).map((r: any) => [r.outgoing, r.calls]))+'\n');
    }
  });
}, ['express']);
