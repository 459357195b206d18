import { BadRequestException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** A charge was made and not recorded: the next attempt has to find out about it. */
async function leaveDoubt(app: PhaseApp, key: string): Promise<void> {
  app.handle('charge', (phases) =>
    phases.foreign('charge_created', { call: async () => 'ch_1', inDoubt: 'repeat' }),
  );
  await app.crash('charge_created:after_call', 'charge', key);
}

describePhases('An answer with a phase in doubt', (app) => {
  it.each([
    ['does-not-need-the-phase-any-more', () => ({ free: true })],
    [
      'refuses-the-request-by-now',
      () => {
        throw new BadRequestException('rides are over');
      },
    ],
  ])('is not final while a handler %s', async (key, handler) => {
    await leaveDoubt(app, key);
    app.handle('charge', handler);

    const answer = await app.post('charge', key);

    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });

    // The old code comes back, and the charge is not forgotten.
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { call: async () => 'ch_1', inDoubt: 'repeat' }),
    );
    expect((await app.post('charge', key)).text).toBe('ch_1');
  });

  it('is not final while it catches the error that another phase was recorded here', async () => {
    await leaveDoubt(app, 'renamed');
    app.handle('charge', async (phases) => {
      await phases.local('payment_skipped', (tx) => note(tx, 'skipped')).catch(() => undefined);
      return { free: true };
    });

    expect((await app.post('charge', 'renamed')).json()).toMatchObject({ code: 'outcome_unknown' });
    expect(await keyRow(app.database, 'renamed')).toMatchObject({ status: 'failed_retryable' });
    expect(await app.notes()).toEqual([]);
  });

  it('may be sent if it says "it failed, try again"', async () => {
    await leaveDoubt(app, 'failing');
    app.handle('charge', () => {
      throw new Error('out of order');
    });

    expect((await app.post('charge', 'failing')).status).toBe(500);
    expect(await keyRow(app.database, 'failing')).toMatchObject({ status: 'failed_retryable' });
  });
});
