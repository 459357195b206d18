import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { commands, policies } from './arbitraries.js';
import { Deliver, lapse, request, Wake } from './commands.js';
import { LIVES } from './fate.js';
import { Model } from './model.js';
import { Provider } from './provider.js';
import { Real } from './real.js';
import { Run } from './run.js';
import { bank, ChargeReconciler, OrdersController, TABLES } from './shop.js';
import { WELL, type Policy } from './vocabulary.js';

/** A few seconds' worth. By hand: `PROTOCOL_RUNS=1000 npm test -- test/protocol`. */
const RUNS = Number(process.env.PROTOCOL_RUNS ?? 25);
/** A failure prints its seed. */
const SEED = process.env.PROTOCOL_SEED;
/** On a busy machine there are fewer runs, and a failure is shrunk less far. */
const TIME = RUNS * 1_000;

forEachPlatform('The protocol', (platform) => {
  let app: IdempotentApp;
  let runs = 0;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      providers: [ChargeReconciler],
      // Nobody but the commands moves anything: no heartbeats, no jobs.
      idempotency: { lease: '10m', maintenance: false },
      // Doubts are logged, and there are many.
      logger: false,
    });
    await app.database.query(TABLES);
  });
  afterAll(() => app.close());

  function newRun(chosen: Policy[]): Run {
    bank.provider = new Provider();
    return new Run(new Model(), new Real(app, bank.provider), `run-${++runs}-`, chosen);
  }

  /** Whatever happened: stalled attempts continue, sent requests arrive, and clients retry. */
  async function drain(run: Run): Promise<void> {
    while (run.stalled.length > 0) await new Wake(0).run(run);
    await new Deliver().run(run);
    for (const key of run.keys()) {
      if (!run.isOver(key)) {
        await lapse(run, key);
        await request(run, key, WELL, LIVES);
      }
      expect(run.isOver(key)).toBe(true);
      await request(run, key, WELL, LIVES);
    }
  }

  it(
    'does what the model does, and charges once, in any order of events',
    () =>
      expectToHold(
        fc.asyncProperty(policies(), commands(), async (chosen, given) => {
          const run = newRun(chosen);
          try {
            await fc.asyncModelRun(() => ({ model: run, real: run }), given);
            await drain(run);
          } finally {
            run.real.close();
          }
        }),
      ),
    2 * TIME + 10_000,
  );
});

/** Fails with the shortest counterexample that it finds, and the seed that leads there again. */
function expectToHold<Given>(property: fc.IAsyncPropertyWithHooks<Given>): Promise<void> {
  return fc.assert(property, {
    numRuns: RUNS,
    interruptAfterTimeLimit: TIME,
    ...(SEED !== undefined && { seed: Number(SEED) }),
  });
}
