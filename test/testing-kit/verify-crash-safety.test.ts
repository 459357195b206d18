import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { CrashSafetyError, verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { createTestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { mistakeOf, requestOf, type HandlerCase } from './handlers/case.js';
import { createTables } from './handlers/orders.js';
import { Provider } from './handlers/provider.js';
import { Checkout, Mailer, right, RightHandlers, Transfers } from './handlers/right.js';
import { wrongCalls, WrongCalls, WrongMailer } from './handlers/wrong-calls.js';
import { stamp, wrongEnds, WrongEnds } from './handlers/wrong-ends.js';
import { wrongPhases, WrongPhases } from './handlers/wrong-phases.js';
import { wrongResults, WrongResults } from './handlers/wrong-results.js';
import { wrongWrites, WrongWrites } from './handlers/wrong-writes.js';

forEachPlatform('verifyCrashSafety', (platform) => {
  const provider = new Provider();
  let app: IdempotentApp;
  let pool: Pool;

  beforeAll(async () => {
    await provider.start();
    const database = await createTestDatabase();
    pool = database.pool;
    await createTables(database);
    app = await startIdempotentApp(platform, {
      controllers: [RightHandlers, WrongCalls, WrongEnds, WrongPhases, WrongResults, WrongWrites],
      providers: [
        Checkout,
        Mailer,
        Transfers,
        WrongMailer,
        { provide: Provider, useValue: provider },
        { provide: Pool, useFactory: () => pool },
      ],
      configure: (nest) => void nest.use(stamp),
      logger: false,
      database,
    });
  });
  afterAll(async () => {
    await app.close();
    await app.database.drop();
    await provider.close();
  });

  const verify = (handler: HandlerCase) =>
    verifyCrashSafety(app.app, requestOf(handler), handler.options);

  it.each([...wrongWrites, ...wrongCalls, ...wrongPhases, ...wrongResults, ...wrongEnds])(
    'finds $name',
    async (handler) => {
      const { code, message = /./ } = handler;
      const error: unknown = await verify(handler).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CrashSafetyError);
      const { problems } = (error as CrashSafetyError).report;
      expect(problems.map((problem) => problem.code)).toEqual([code]);
      expect(problems[0]!.message).toMatch(message);
      const mistake = mistakeOf(handler);
      if (mistake === undefined) return;
      const { line, from } = problems[0]!;
      // A client of the other system comes first, then who has called it.
      const named = [line, ...from].map((each) => each?.replace(/:\d+$/, ''));
      expect(named).toContain(mistake);
    },
  );

  it.each(right)('passes $name', async (endpoint) => {
    const { safe, runs } = await verify(endpoint);
    expect(safe).toBe(true);
    expect(runs.length).toBeGreaterThan(5);
  });
});
