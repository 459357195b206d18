import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { ForeignEffect } from 'nestjs-atomic-idempotency';
import { describePhases } from '../support/phase-app.js';

const seen = ({ idempotencyKey, request, attempt }: ForeignEffect) => ({
  idempotencyKey,
  request,
  attempt,
});

describePhases('The effect key', (app) => {
  it.each([
    ['after the intent', 'charge_created:after_intent', 1],
    ['after the call', 'charge_created:after_call', 2],
    ['before the commit', 'charge_created:before_commit', 2],
  ])('is the same, with the same request, after a crash %s', async (_, point, calls) => {
    const key = randomUUID();
    const effects: ReturnType<typeof seen>[] = [];
    let price = 100;
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        request: { amount: price },
        call: async (effect) => void effects.push(seen(effect)),
        inDoubt: 'repeat',
      }),
    );

    await app.crash(point, 'charge', key);
    const [{ effect_key: idempotencyKey }] = (await app.phases(key)) as [{ effect_key: string }];
    // The other system compares the request of a repeat with the first one.
    price = 120;
    expect((await app.post('charge', key)).status).toBe(201);

    const repeat = { idempotencyKey, request: { amount: 100 }, attempt: 2 };
    const first = { ...repeat, attempt: 1 };
    expect(effects).toEqual(calls === 1 ? [repeat] : [first, repeat]);
    expect(await app.phases(key)).toMatchObject([
      { effect_key: idempotencyKey, request: { amount: 100 }, state: 'finished', attempt: 2 },
    ]);
  });

  it('stays the same over any number of attempts', async () => {
    const keys = new Set<string>();
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async ({ idempotencyKey, attempt }) => {
          keys.add(idempotencyKey);
          if (attempt < 4) throw new Error('timeout');
          return attempt;
        },
        inDoubt: 'repeat',
      }),
    );

    const statuses: number[] = [];
    for (let n = 1; n <= 4; n++) statuses.push((await app.post('charge', 'often')).status);

    expect(statuses).toEqual([500, 500, 500, 201]);
    expect(keys.size).toBe(1);
  });

  it('belongs to one phase of one request', async () => {
    const keys: string[] = [];
    app.handle('charge', async (phases) => {
      const call = async ({ idempotencyKey }: ForeignEffect) => void keys.push(idempotencyKey);
      await phases.foreign('charge_created', { call });
      await phases.foreign('tip_created', { call });
    });

    await app.post('charge', 'first');
    await app.post('charge', 'second');

    expect(new Set(keys).size).toBe(4);
  });
});
