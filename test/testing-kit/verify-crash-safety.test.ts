import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { CrashSafetyError, verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { createTestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { HandlerCase } from './handlers/case.js';
import { createTables } from './handlers/orders.js';
import { Provider } from './handlers/provider.js';
import { Checkout, Mailer, right, RightHandlers } from './handlers/right.js';
import { wrongCalls, WrongCalls } from './handlers/wrong-calls.js';
import { wrongPhases, WrongPhases } from './handlers/wrong-phases.js';
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
      controllers: [RightHandlers, WrongCalls, WrongPhases, WrongWrites],
      providers: [
        Checkout,
        Mailer,
        { provide: Provider, useValue: provider },
        { provide: Pool, useFactory: () => pool },
      ],
      logger: false,
      database,
    });
  });
  afterAll(async () => {
    await app.close();
    await app.database.drop();
    await provider.close();
  });

  const verify = ({ path, request, options }: HandlerCase) =>
    verifyCrashSafety(app.app, { path, ...request }, options);

  it.each([...wrongWrites, ...wrongCalls, ...wrongPhases])(
    'finds $name',
    async ({ code, message = /./, line, ...endpoint }) => {
      const error: unknown = await verify({ ...endpoint }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CrashSafetyError);
      const { problems } = (error as CrashSafetyError).report;
      expect(problems.map((problem) => problem.code)).toEqual([code]);
      expect(problems[0]!.message).toMatch(message);
      if (line) expect(problems[0]!.line).toMatch(line);
    },
  );

  it.each(right)('passes $name', async (endpoint) => {
    const { safe, runs } = await verify(endpoint);
    expect(safe).toBe(true);
    expect(runs.length).toBeGreaterThan(5);
  });
});
