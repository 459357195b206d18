import { beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { until } from '../support/until.js';
import { message, messages } from './messages.js';
import { startOutboxApp, working } from './outbox-app.js';

let gate: Barrier;
const delivered: number[] = [];
let underWay = 0;
let mostUnderWay = 0;
beforeEach(() => {
  gate = barrier();
  delivered.length = 0;
  underWay = mostUnderWay = 0;
});

const handlers = {
  slow: () => gate.pass(),
  quick: async ({ payload }: { payload: number }) => {
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    delivered.push(payload);
  },
};

describe('Deliveries', () => {
  it('continue beside a slow one, batch after batch', async () => {
    const app = await startOutboxApp({ handlers, idempotency: working({ batch: 4 }) });
    const slow = await app.add('slow');
    await gate.arrived();
    await app.dataSource.transaction(async (tx) => {
      for (let i = 0; i < 40; i += 1) await app.outbox.add(tx, 'quick', i);
    });
    await until(() => delivered.length === 40);
    expect(mostUnderWay).toBeLessThanOrEqual(3); // the slow one keeps its place
    expect(await message(app.database, slow)).toMatchObject({ attempts: 1 });
    gate.open();
    await until(async () => (await messages(app.database)).length === 0);
    expect(delivered.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i));
    await app.close();
  });

  it('never exceed the batch, however many messages wait', async () => {
    const app = await startOutboxApp({ handlers, idempotency: working({ batch: 4 }) });
    await app.dataSource.transaction(async (tx) => {
      for (let i = 0; i < 8; i += 1) await app.outbox.add(tx, 'slow');
    });
    await gate.arrived(4);
    const claimed = (await messages(app.database)).filter((row) => row.lease_token !== null);
    expect(claimed).toHaveLength(4);
    const another = app.deliver();
    gate.open();
    expect(await another).toBe(0); // there was no room
    await until(async () => (await messages(app.database)).length === 0);
    expect(gate.count).toBe(8);
    await app.close();
  });

  it('that hang have failed after maxRunTime: their signal fires and they no longer count', async () => {
    const signals: AbortSignal[] = [];
    const app = await startOutboxApp({
      handlers: {
        ...handlers,
        hangs: ({ signal }) => {
          signals.push(signal);
          return new Promise(() => undefined);
        },
      },
      idempotency: { ...working({ batch: 1 }), outbox: { maxRunTime: '50ms' } },
    });
    const hanging = await app.add('hangs');
    await until(() => signals.length === 1);
    await app.add('quick', 1);
    await until(() => delivered.length === 1);
    expect(signals[0]!.aborted).toBe(true);
    const failed = await until(async () => {
      const row = await message(app.database, hanging);
      return row?.last_error ? row : undefined;
    });
    expect(failed.last_error).toContain('took longer than 50 ms (maxRunTime)');
    await app.close();
  });
});
