import { BadGatewayException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** What the provider forgets after a day is forgotten now. */
async function forgetEffectKey(app: PhaseApp, key: string): Promise<void> {
  await app.database.query(
    `UPDATE idempotency_phases p SET key_valid_until = now() - interval '1 second'
     FROM idempotency_keys k WHERE p.scope = k.scope AND p.key_id = k.id AND k.key = $1`,
    [key],
  );
}

/** A provider that acts, and whose first answers are lost. */
function provider(lostAnswers: number) {
  const calls: string[] = [];
  const charges = new Set<string>();
  const call = async ({ idempotencyKey }: { idempotencyKey: string }) => {
    calls.push(idempotencyKey);
    charges.add(idempotencyKey);
    if (calls.length <= lostAnswers) throw new BadGatewayException('no answer');
    return { charge: [...charges].indexOf(idempotencyKey) };
  };
  return { calls, charges, call };
}

describePhases('inDoubt: repeat', (app) => {
  it('rethrows the error, and a retry calls again under the same effect key', async () => {
    const { calls, charges, call } = provider(1);
    app.handle('charge', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      return phases.foreign('charge_created', { call, inDoubt: 'repeat' });
    });

    const first = await app.post('charge', 'repeated');
    expect(first.status).toBe(502);
    expect(first.json()).toMatchObject({ message: 'no answer' });
    expect(await keyRow(app.database, 'repeated')).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'ride_created',
    });

    const retry = await app.post('charge', 'repeated');
    expect(retry.status).toBe(201);
    expect(retry.json()).toEqual({ charge: 0 });
    expect(calls).toHaveLength(2);
    expect(charges.size).toBe(1);
    expect(await app.notes()).toEqual(['ride']);
  });

  it('holds the answer that the handler made of the error', async () => {
    const { charges, call } = provider(1);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, inDoubt: 'repeat' }).catch(() => ({ paid: false })),
    );

    const first = await app.post('charge', 'swallowed');
    expect(first.status).toBe(409);
    expect(first.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
    // It is repeated, and the text must not say the contrary.
    expect(first.json().detail).not.toMatch(/not repeated/);
    expect(await keyRow(app.database, 'swallowed')).toMatchObject({ status: 'failed_retryable' });

    expect((await app.post('charge', 'swallowed')).json()).toEqual({ charge: 0 });
    expect(charges.size).toBe(1);
  });

  it('becomes stop when the other system no longer knows the effect key', async () => {
    const { calls, call } = provider(1);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, inDoubt: 'repeat', keyValidFor: '24h' }),
    );

    await app.post('charge', 'forgotten');
    await forgetEffectKey(app, 'forgotten');
    const retry = await app.post('charge', 'forgotten');

    expect(retry.status).toBe(409);
    expect(retry.json()).toMatchObject({ code: 'outcome_unknown' });
    expect(calls).toHaveLength(1);
    expect(await keyRow(app.database, 'forgotten')).toMatchObject({
      status: 'unknown',
      last_error_code: 'effect_key_forgotten',
    });
  });

  it('becomes stop after a crash as well', async () => {
    const { calls, call } = provider(0);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, inDoubt: 'repeat', keyValidFor: '24h' }),
    );

    await app.crash('charge_created:after_call', 'charge', 'crashed');
    await forgetEffectKey(app, 'crashed');

    expect((await app.post('charge', 'crashed')).json()).toMatchObject({ code: 'outcome_unknown' });
    expect(calls).toHaveLength(1);
  });

  it('counts the validity from the first call, however often it is repeated', async () => {
    const { call } = provider(2);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, inDoubt: 'repeat', keyValidFor: '24h' }),
    );

    await app.post('charge', 'counted');
    const [first] = await app.phases('counted');
    await app.post('charge', 'counted');
    const [second] = await app.phases('counted');

    expect(second).toMatchObject({ attempt: 2, key_valid_until: first!.key_valid_until });
  });

  it('follows the current code: a route that changed to stop does not repeat', async () => {
    const { calls, call } = provider(1);
    app.handle('charge', (phases) => phases.foreign('charge_created', { call, inDoubt: 'repeat' }));
    await app.post('charge', 'careful');
    app.handle('charge', (phases) => phases.foreign('charge_created', { call, inDoubt: 'stop' }));

    expect((await app.post('charge', 'careful')).json()).toMatchObject({ code: 'outcome_unknown' });
    expect(calls).toHaveLength(1);
    expect(await keyRow(app.database, 'careful')).toMatchObject({ status: 'unknown' });
  });
});
