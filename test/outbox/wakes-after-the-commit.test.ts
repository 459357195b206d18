import { describe, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { until } from '../support/until.js';
import { messages } from './messages.js';
import { startOutboxApp, working } from './outbox-app.js';

/** Polls so rarely that only a wake-up can explain a delivery. */
const NEVER_POLLS = working({ interval: '1h' });

describe('The worker of a process', () => {
  it('delivers what the process has committed without waiting for its next query', async () => {
    const came = barrier();
    came.open();
    const app = await startOutboxApp({
      handlers: { orders: () => came.pass() },
      idempotency: NEVER_POLLS,
    });
    await app.add('orders');
    await came.arrived(1);
    await app.add('orders');
    await came.arrived(2);
    await until(async () => (await messages(app.database)).length === 0);
  });

  it('is woken by the transaction and not by a savepoint in it', async () => {
    const came = barrier();
    came.open();
    const app = await startOutboxApp({
      handlers: { orders: () => came.pass() },
      idempotency: NEVER_POLLS,
    });
    await app.dataSource.transaction(async (tx) => {
      await tx.transaction((inner) => app.outbox.add(inner, 'orders'));
      await tx.transaction(() => Promise.reject(new Error())).catch(() => undefined);
      expect(await app.deliver()).toBe(0); // what is not committed cannot be delivered
    });
    await came.arrived(1);
  });

  it('takes more of a backlog as soon as it has capacity', async () => {
    const came = barrier();
    came.open();
    const app = await startOutboxApp({
      handlers: { orders: () => came.pass() },
      idempotency: working({ interval: '1h', batch: 3 }),
    });
    await app.dataSource.transaction(async (tx) => {
      for (let i = 0; i < 20; i += 1) await app.outbox.add(tx, 'orders');
    });
    await came.arrived(20);
    await until(async () => (await messages(app.database)).length === 0);
    expect(came.count).toBe(20);
  });

  it('finds what other processes have committed by polling', async () => {
    const came = barrier();
    came.open();
    const worker = await startOutboxApp({
      handlers: { orders: () => came.pass() },
      idempotency: working(),
    });
    const web = await startOutboxApp({ database: worker.database });
    await web.add('orders');
    await came.arrived(1);
    await until(async () => (await messages(worker.database)).length === 0);
    await web.close();
  });

  it('does not take topics that it has no handler for', async () => {
    const came = barrier();
    came.open();
    const orders = await startOutboxApp({
      handlers: { orders: () => came.pass() },
      idempotency: working(),
    });
    await orders.add('mails');
    await orders.add('orders');
    await came.arrived(1);
    await until(async () => (await messages(orders.database)).length === 1);

    const mails = await startOutboxApp({
      database: orders.database,
      handlers: { mails: () => came.pass() },
    });
    expect(await mails.deliver()).toBe(1);
    expect(await messages(orders.database)).toEqual([]);
    await mails.close();
  });
});
