import { randomUUID } from 'node:crypto';
import { HttpException } from '@nestjs/common';
import { beforeEach, expect, it } from '@jest/globals';
import type { InDoubt } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { openKeyStore, reservationOf } from '../support/key-store.js';
import { operatorOf } from '../support/operator.js';
import { describePhases, note } from '../support/phase-app.js';

const EXECUTED = { outcome: 'executed', result: { id: 'ch_1' } } as const;

describePhases('A webhook', (app) => {
  let key: string;
  beforeEach(() => {
    key = randomUUID();
  });

  /** POST /charge, whose calls do what the test says; returns the effect keys they were made with. */
  function handleCharge(inDoubt: InDoubt, call: () => Promise<unknown> = lost): string[] {
    const calls: string[] = [];
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: ({ idempotencyKey }) => {
          calls.push(idempotencyKey);
          return call();
        },
        record: async (tx, result) => {
          await note(tx, 'recorded');
          return result;
        },
        inDoubt,
      }),
    );
    return calls;
  }

  it('for an unknown key gives its result to a retry', async () => {
    const calls = handleCharge('stop');
    await app.post('charge', key);
    const change = await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook');
    expect(change).toMatchObject({
      changed: true,
      before: { status: 'unknown', phase: { name: 'charge_created', state: 'intended' } },
      after: { status: 'failed_retryable', phase: { state: 'reconciled' } },
    });
    expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
    expect(calls).toHaveLength(1);
    expect(await app.notes()).toEqual(['recorded']);
  });

  it('prevents a retry from repeating a call in doubt', async () => {
    const calls = handleCharge('repeat');
    expect((await app.post('charge', key)).status).toBe(500);
    await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook');
    expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
    expect(calls).toHaveLength(1);
  });

  it('that arrives before the answer changes nothing', async () => {
    const gate = barrier();
    const calls = handleCharge('stop', async () => {
      await gate.pass();
      return { id: 'from the answer' };
    });
    const answer = app.post('charge', key);
    await gate.arrived();
    const change = await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook');
    expect(change).toMatchObject({ changed: false, reason: 'running' });
    gate.open();
    expect((await answer).json()).toEqual({ id: 'from the answer' });

    const again = await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook');
    expect(again).toMatchObject({ changed: false, reason: 'not_in_doubt' });
  });

  it('after a crash does not wait for the sweeper', async () => {
    const calls = handleCharge('stop', async () => ({ id: 'charged' }));
    await app.crash('charge_created:after_call', 'charge', key);
    const change = await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook');
    expect(change).toMatchObject({ changed: true, before: { status: 'in_progress' } });
    expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
    expect(calls).toHaveLength(1);
  });

  it('overrides a withdrawn intent, but never a recorded outcome', async () => {
    const operator = operatorOf(app);
    const calls = handleCharge('stop');
    await app.post('charge', key);
    const [effectKey] = calls as [string];
    await operator.resolve(effectKey, { outcome: 'not_executed' }, 'reconciler');
    expect(await operator.resolve(effectKey, EXECUTED, 'webhook')).toMatchObject({
      changed: true,
      before: { phase: { state: 'withdrawn' } },
    });

    const error = new HttpException('no', 402);
    for (const contradiction of [
      { outcome: 'not_executed' } as const,
      { outcome: 'rejected', error } as const,
      { outcome: 'executed', result: { id: 'another' } } as const,
    ]) {
      expect(await operator.resolve(effectKey, contradiction, 'somebody')).toMatchObject({
        changed: false,
        reason: 'not_in_doubt',
      });
    }
    expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
  });

  it('overrides what a retry read before it came', async () => {
    const calls = handleCharge('repeat');
    await app.post('charge', key);
    const keys = await openKeyStore(app.database.url);
    const [seen] = await keys.store.lookUp([reservationOf(key, { scope: '' })]);
    if (seen?.kind !== 'found') throw new Error('The key is not there.');

    expect(await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook')).toMatchObject({
      changed: true,
    });
    expect(await keys.transitions.takeOver(seen.key, randomUUID(), 30_000)).toBe('outdated');
    await keys.close();
    expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
    expect(calls).toHaveLength(1);
  });

  it('that arrives after a retry has made the call is told so', async () => {
    const gate = barrier();
    let lose = true;
    const calls = handleCharge('repeat', async () => {
      if (lose) return lost();
      await gate.pass();
      return { id: 'from the retry' };
    });
    await app.post('charge', key);
    lose = false;
    const retry = app.post('charge', key);
    await gate.arrived();
    expect(await operatorOf(app).resolve(calls[0]!, EXECUTED, 'webhook')).toMatchObject({
      changed: false,
      reason: 'running',
    });
    gate.open();
    expect((await retry).json()).toEqual({ id: 'from the retry' });
  });
});

function lost(): Promise<never> {
  return Promise.reject(new Error('time-out'));
}
