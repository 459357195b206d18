import { ConflictException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

describePhases('A resume of local phases', (app) => {
  it('returns the recorded result of a finished phase without running it', async () => {
    const runs: string[] = [];
    app.handle('ride', async (phases) => {
      const ride = await phases.local('ride_created', async (tx) => {
        runs.push('ride_created');
        await note(tx, 'ride');
        return { id: runs.length };
      });
      const receipt = await phases.local('receipt_staged', async (tx) => {
        runs.push('receipt_staged');
        await note(tx, `receipt of ride ${ride.id}`);
        return `receipt ${runs.length}`;
      });
      return { ride, receipt, attempt: phases.current!.attempt };
    });

    await app.crash('receipt_staged:before_commit', 'ride', 'k');
    expect(await keyRow(app.database, 'k')).toMatchObject({
      recovery_point: 'ride_created',
      attempt: 1,
    });
    await app.crash('receipt_staged:after_commit', 'ride', 'k');
    expect(await keyRow(app.database, 'k')).toMatchObject({
      recovery_point: 'receipt_staged',
      attempt: 2,
    });

    const answer = await app.post('ride', 'k');
    expect(answer.status).toBe(201);
    expect(answer.json()).toEqual({ ride: { id: 1 }, receipt: 'receipt 3', attempt: 3 });
    expect(runs).toEqual(['ride_created', 'receipt_staged', 'receipt_staged']);
    expect(await app.notes()).toEqual(['ride', 'receipt of ride 1']);
    expect(await keyRow(app.database, 'k')).toMatchObject({
      recovery_point: 'finished',
      status: 'completed',
    });
  });

  it('starts at the last recovery point after an error of the handler', async () => {
    let healthy = false;
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      if (!healthy) throw new Error('out of order');
      await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
      return 'done';
    });

    expect((await app.post('ride', 'erring')).status).toBe(500);
    expect(await keyRow(app.database, 'erring')).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'ride_created',
    });
    healthy = true;
    expect((await app.post('ride', 'erring')).text).toBe('done');
    expect(await app.notes()).toEqual(['ride', 'receipt']);
  });

  it('lets a handler repeat a failed phase, or continue without it', async () => {
    let tries = 0;
    app.handle('ride', async (phases) => {
      const book = () =>
        phases.local('seat_booked', async (tx) => {
          await note(tx, 'seat');
          if (++tries < 3) throw new ConflictException('taken');
        });
      await book().catch(() => book().catch(() => book()));
      await phases.local('upgraded', () => Promise.reject(new Error('no'))).catch(() => undefined);
      await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
      return 'done';
    });

    expect((await app.post('ride', 'patient')).text).toBe('done');
    expect(await app.notes()).toEqual(['seat', 'receipt']);
    expect(await app.phases('patient')).toMatchObject([
      { name: 'seat_booked', position: 1 },
      { name: 'receipt_staged', position: 2 },
    ]);
  });
});
