import { HttpException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { PhaseStoppedError } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases } from '../support/phase-app.js';
import { later } from '../../lib/postgres/times.js';

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const isRefused = (error: unknown) => error === refused;

/** Makes the first calls fail with the given errors; later ones succeed. Notes the effect keys. */
function failing(...errors: unknown[]) {
  const keys: string[] = [];
  const call = async ({ idempotencyKey }: { idempotencyKey: string }) => {
    keys.push(idempotencyKey);
    if (keys.length <= errors.length) throw errors[keys.length - 1];
    return 'ch_1';
  };
  return { keys, call };
}

describePhases('notExecuted', (app) => {
  it('withdraws the intent, and a retry makes the call under the same effect key', async () => {
    const { keys, call } = failing(refused);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, notExecuted: isRefused }),
    );

    const first = await app.post('charge', 'withdrawn');
    expect(first.status).toBe(500);
    expect(await app.phases('withdrawn')).toMatchObject([{ state: 'withdrawn' }]);
    expect(await keyRow(app.database, 'withdrawn')).toMatchObject({ status: 'failed_retryable' });

    const retry = await app.post('charge', 'withdrawn');
    expect(retry.status).toBe(201);
    expect(retry.text).toBe('ch_1');
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(await app.phases('withdrawn')).toMatchObject([
      { state: 'finished', effect_key: keys[0], attempt: 2 },
    ]);
  });

  it('is kept over a crash: the call is then made, even with inDoubt: stop', async () => {
    const { keys, call } = failing(refused);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, notExecuted: isRefused, inDoubt: 'stop' }),
    );

    await app.crash('recording:before', 'charge', 'dying');
    expect((await app.post('charge', 'dying')).text).toBe('ch_1');
    expect(keys).toEqual([keys[0], keys[0]]);
  });

  it('starts no further phase in the same attempt', async () => {
    const { call } = failing(refused);
    let stopped: unknown;
    app.handle('charge', async (phases) => {
      await phases
        .foreign('charge_created', { call, notExecuted: isRefused })
        .catch(() => undefined);
      await phases
        .local('receipt_staged', async () => 1)
        .catch((error: unknown) => {
          stopped = error;
          throw error;
        });
    });

    expect((await app.post('charge', 'stopped')).status).toBe(500);
    expect(stopped).toBeInstanceOf(PhaseStoppedError);
    expect(stopped).toMatchObject({
      phase: 'receipt_staged',
      stoppedAt: 'charge_created',
      reason: 'not_executed',
    });
  });

  it('does not withdraw what an earlier attempt may have done', async () => {
    const { keys, call } = failing(new Error('timeout'), refused);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call, notExecuted: isRefused, inDoubt: 'repeat' }),
    );

    await app.post('charge', 'doubtful');
    await app.post('charge', 'doubtful');
    expect(await app.phases('doubtful')).toMatchObject([{ state: 'intended', attempt: 2 }]);
    expect((await app.post('charge', 'doubtful')).text).toBe('ch_1');
    expect(new Set(keys).size).toBe(1);
  });

  it('takes precedence over a rejection: an overloaded system may answer 429 and mean "not yet"', async () => {
    const { call } = failing(new HttpException('slow down', 429));
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call,
        notExecuted: (error) => error instanceof HttpException && error.getStatus() === 429,
      }),
    );

    expect((await app.post('charge', 'later')).status).toBe(429);
    expect((await app.post('charge', 'later')).text).toBe('ch_1');
  });

  it('counts as false when it throws', async () => {
    const { call } = failing(new Error('timeout'));
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call,
        notExecuted: () => {
          throw new TypeError('no code');
        },
      }),
    );

    expect((await app.post('charge', 'throwing')).json()).toMatchObject({
      code: 'outcome_unknown',
    });
    expect(app.logs).toContainEqual(
      'notExecuted of phase "charge_created" threw and counts as false: TypeError: no code',
    );
  });

  it('lets the validity of the effect key start with the call that is really made', async () => {
    const { keys, call } = failing(refused);
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call,
        notExecuted: isRefused,
        inDoubt: 'repeat',
        keyValidFor: '1h',
      }),
    );

    await app.post('charge', 'validity');
    await app.database.query(
      `UPDATE idempotency_phases
       SET started_at = ${later('started_at', "interval '-2 h'")}, key_valid_until = ${later('key_valid_until', "interval '-2 h'")}
       WHERE effect_key = $1`,
      [keys[0]],
    );
    await app.crash('charge_created:after_call', 'charge', 'validity');

    expect((await app.post('charge', 'validity')).text).toBe('ch_1');
    expect(keys).toHaveLength(3);
  });
});
