import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FAULT_STEPS, observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { Deliver, Duplicates, Forget, Lapse, Request, Run, Wake } from './commands.js';
import { Model, WELL, type Policy } from './model.js';
import { BEHAVIOURS, Provider } from './provider.js';
import { LIVES, Real, type Fate } from './real.js';
import { bank, ChargeReconciler, OrdersController, TABLES } from './shop.js';

const KEYS = 2;
/** A few seconds' worth. More by hand: `PROTOCOL_RUNS=1000 npm test -- test/protocol`. */
const RUNS = Number(process.env.PROTOCOL_RUNS ?? 25);
/** A failure prints its seed. */
const SEED = process.env.PROTOCOL_SEED;
/** On a busy machine there are fewer runs, and a failure is shrunk less far. */
const TIME = RUNS * 1_000;

forEachPlatform((platform) => {
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

  /** Where a request can die, from one that does not. */
  async function learnFaultPoints(): Promise<string[]> {
    bank.provider = new Provider();
    const points: string[] = [];
    const stopObserving = observeFaultPoints(({ name }) => void points.push(name));
    const headers = { 'x-circumstances': JSON.stringify(WELL) };
    const answer = await send(`${app.url}/orders/stop/unknown`, { key: 'undisturbed', headers });
    stopObserving();
    expect(answer.status).toBe(201);
    return points;
  }

  function commandsAt(points: string[]) {
    const number = fc.nat({ max: KEYS - 1 });
    const dies = fc.record({ kind: fc.constant('dies' as const), at: fc.constantFrom(...points) });
    const stalls = fc.record({
      kind: fc.constant('stalls' as const),
      // A transaction that is left open locks the key's row, and nobody could take it over.
      at: fc.constantFrom(...points.filter((point) => !point.endsWith('before_commit'))),
    });
    const lives = fc.constant(LIVES);
    // Few live: a key that is through has no more to show.
    const fate: fc.Arbitrary<Fate> = fc.oneof(
      { weight: 1, arbitrary: lives },
      { weight: 3, arbitrary: dies },
      { weight: 3, arbitrary: stalls },
    );
    const circumstances = fc.record({
      behaviour: fc.constantFrom(...BEHAVIOURS),
      reconciler: fc.constantFrom('answers', 'is_silent'),
    });
    const request = fc.tuple(number, circumstances, fate).map((given) => new Request(...given));
    const lapse = number.map((given) => new Lapse(given));
    const wake = fc.nat({ max: 5 }).map((given) => new Wake(given));
    const duplicates = fc
      .tuple(number, fc.integer({ min: 2, max: 4 }), fc.oneof(lives, dies))
      .map((given) => new Duplicates(...given));
    const forget = number.map((given) => new Forget(given));
    const deliver = fc.constant(new Deliver());
    // What leads from one attempt to the next comes more often than the rest.
    return fc.commands(
      [request, request, request, request, lapse, lapse, lapse, wake, duplicates, forget, deliver],
      { maxCommands: 30, size: 'max' },
    );
  }

  /** Whatever happened: everybody wakes up, what is on its way arrives, and clients retry. */
  async function drain(run: Run): Promise<void> {
    while (run.stalled.length > 0) await new Wake(0).run(run);
    await new Deliver().run(run);
    for (let number = 0; number < KEYS; number++) {
      const key = run.key(number);
      if (!run.model.keys.has(key)) continue;
      await new Lapse(number).run(run);
      const retry = new Request(number, WELL, LIVES);
      await retry.run(run);
      expect(['completed', 'unknown']).toContain((await run.real.row(key))!.status);
      await retry.run(run);
    }
  }

  it(
    'does what the model does, and charges once, whatever happens in whatever order',
    async () => {
      const points = await learnFaultPoints();
      expect(
        new Set(points.map((point) => FAULT_STEPS.find((step) => point.endsWith(step)))),
      ).toEqual(new Set(FAULT_STEPS));
      const policy = fc.record<Policy>({
        inDoubt: fc.constantFrom('repeat', 'reconcile', 'stop'),
        onAbandoned: fc.constantFrom('resume', 'unknown'),
      });
      const policies = fc.array(policy, { minLength: KEYS, maxLength: KEYS });

      await fc.assert(
        fc.asyncProperty(policies, commandsAt(points), async (chosen, commands) => {
          bank.provider = new Provider();
          const real = new Real(app, bank.provider);
          const run = new Run(new Model(), real, `run-${++runs}`, chosen);
          try {
            await fc.asyncModelRun(() => ({ model: run, real: run }), commands);
            await drain(run);
          } finally {
            real.close();
          }
        }),
        { numRuns: RUNS, ...(SEED && { seed: Number(SEED) }), interruptAfterTimeLimit: TIME },
      );
    },
    2 * TIME + 10_000,
  );
});
