import { expect, it } from '@jest/globals';
import type { InDoubt } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** A ride, then a charge with this policy; calls are counted by the notes. */
function handleRide(app: PhaseApp, inDoubt: InDoubt): { calls: number } {
  const seen = { calls: 0 };
  app.handle('ride', async (phases) => {
    await phases.local('ride_created', (tx) => note(tx, 'ride'));
    await phases.foreign('charge_created', { call: async () => void (seen.calls += 1), inDoubt });
    await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
    return 'done';
  });
  return seen;
}

type Case = [point: string, inDoubt: InDoubt, calls: number];

const resumed: Case[] = [
  ['ride_created:after_commit', 'stop', 1],
  ['charge_created:before_intent', 'stop', 1],
  ['charge_created:after_intent', 'repeat', 1],
  ['charge_created:after_call', 'repeat', 2],
  ['charge_created:before_commit', 'repeat', 2],
  ['charge_created:after_commit', 'stop', 1],
  ['receipt_staged:before_commit', 'stop', 1],
  ['receipt_staged:after_commit', 'stop', 1],
  ['recording:before', 'stop', 1],
];

const refused: Case[] = [
  ['charge_created:after_intent', 'stop', 0],
  ['charge_created:after_call', 'stop', 1],
  ['charge_created:before_commit', 'stop', 1],
];

const nothingRecorded = ['reserved', 'ride_created:before_commit'];

const name = (...parts: string[]) => parts.join('/');

for (const onAbandoned of ['unknown', 'resume'] as const) {
  describePhases(
    `A takeover with onAbandoned: ${onAbandoned}`,
    (app) => {
      it.each(resumed)(
        'resumes after a crash at %s, inDoubt: %s',
        async (point, inDoubt, calls) => {
          const key = name(point, inDoubt);
          const seen = handleRide(app, inDoubt);
          await app.crash(point, 'ride', key);

          const answer = await app.post('ride', key);

          expect(answer.status).toBe(201);
          expect(answer.text).toBe('done');
          expect(await app.notes()).toEqual(['ride', 'receipt']);
          expect(seen.calls).toBe(calls);
          expect(await keyRow(app.database, key)).toMatchObject({
            status: 'completed',
            attempt: 2,
          });
        },
      );

      it.each(refused)(
        'gives unknown after a crash at %s, inDoubt: %s',
        async (point, inDoubt, calls) => {
          const key = name(point, inDoubt);
          const seen = handleRide(app, inDoubt);
          await app.crash(point, 'ride', key);

          for (const answer of [await app.post('ride', key), await app.post('ride', key)]) {
            expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
          }
          expect(await app.notes()).toEqual(['ride']);
          expect(seen.calls).toBe(calls);
          expect(await keyRow(app.database, key)).toMatchObject({
            status: 'unknown',
            attempt: 1,
            last_error_code: 'in_doubt',
            recovery_point: 'ride_created',
          });
        },
      );

      it.each(nothingRecorded)(
        'follows onAbandoned if no phase was recorded, as after a crash at %s',
        async (point) => {
          handleRide(app, 'stop');
          await app.crash(point, 'ride', point);

          const answer = await app.post('ride', point);

          if (onAbandoned === 'resume') {
            expect(answer.text).toBe('done');
            expect(await app.notes()).toEqual(['ride', 'receipt']);
          } else {
            expect(answer.json()).toMatchObject({ status: 409, code: 'outcome_unknown' });
            expect(await app.notes()).toEqual([]);
            expect(await keyRow(app.database, point)).toMatchObject({
              status: 'unknown',
              last_error_code: 'abandoned',
            });
          }
        },
      );

      it('replays after a crash behind the recording', async () => {
        const seen = handleRide(app, 'stop');
        await app.crash('recording:after', 'ride', 'recorded');

        const answer = await app.post('ride', 'recorded');

        expect(answer.text).toBe('done');
        expect(answer.headers.get('idempotent-replayed')).toBe('true');
        expect(seen.calls).toBe(1);
      });
    },
    { idempotency: { onAbandoned } },
  );
}
