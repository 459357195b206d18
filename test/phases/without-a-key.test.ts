import { HttpException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { PhaseStoppedError, type AtomicPhase, type ForeignEffect } from 'nestjs-atomic-idempotency';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** Everything a request with a key would have left in the tables. */
async function rows(app: PhaseApp): Promise<number> {
  const [{ count }] = (await app.database.query(
    `SELECT (SELECT count(*) FROM idempotency_keys)::int
          + (SELECT count(*) FROM idempotency_phases)::int AS count`,
  )) as [{ count: number }];
  return count;
}

describePhases(
  'Phases without a key',
  (app) => {
    it('run with a random effect key, and leave no rows', async () => {
      const effects: ForeignEffect[] = [];
      app.handle('ride', async (phases) => {
        const ride = await phases.local('ride_created', async (tx) => {
          await note(tx, 'ride');
          return { at: new Date(0) };
        });
        const charge = await phases.foreign('charge_created', {
          request: { amount: 1, at: new Date(0) },
          call: async (effect) => {
            effects.push(effect);
            return { id: 'ch_1', at: new Date(0) };
          },
          record: async (tx, result) => {
            await note(tx, result.id);
            return result;
          },
        });
        return { ride, charge, current: phases.current ?? null };
      });

      const answers = [await app.post('ride', undefined), await app.post('ride', undefined)];

      const at = '1970-01-01T00:00:00.000Z';
      for (const answer of answers) {
        expect(answer.status).toBe(201);
        expect(answer.json()).toEqual({ ride: { at }, charge: { id: 'ch_1', at }, current: null });
      }
      expect(await app.notes()).toEqual(['ride', 'ch_1', 'ride', 'ch_1']);
      expect(new Set(effects.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
      for (const effect of effects) {
        expect(effect).toMatchObject({
          idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
          request: { amount: 1, at },
          attempt: 1,
          signal: { aborted: false },
        });
      }
      expect(await rows(app)).toBe(0);
    });

    it('roll back work that fails', async () => {
      app.handle('ride', (phases) =>
        phases.local('ride_created', async (tx) => {
          await note(tx, 'ride');
          throw new HttpException('taken', 409);
        }),
      );

      expect((await app.post('ride', undefined)).status).toBe(409);
      expect(await app.notes()).toEqual([]);
    });

    it('rethrow errors of a call, since nobody will resume', async () => {
      const errors = [new HttpException('declined', 402), new HttpException('timeout', 504)];
      for (const error of errors) {
        app.handle('ride', (phases) =>
          phases.foreign('charge_created', {
            call: () => Promise.reject(error),
            inDoubt: 'reconcile',
          }),
        );
        expect((await app.post('ride', undefined)).status).toBe(error.getStatus());
      }
    });

    it('do not continue after a call in doubt', async () => {
      let stopped: unknown;
      app.handle('ride', async (phases) => {
        await phases
          .foreign('charge_created', { call: () => Promise.reject(new Error('timeout')) })
          .catch(() => undefined);
        await phases
          .local('receipt_staged', (tx) => note(tx, 'receipt'))
          .catch((error: unknown) => (stopped = error));
      });

      await app.post('ride', undefined);

      expect(stopped).toBeInstanceOf(PhaseStoppedError);
      expect(await app.notes()).toEqual([]);
    });

    const one = (phases: AtomicPhase, name: string) => phases.local(name, async () => 1);
    it.each([
      ['two at once', (p: AtomicPhase) => Promise.all([one(p, 'a'), one(p, 'b')]), /while phase/],
      ['one in another', (p: AtomicPhase) => p.local('a', () => one(p, 'b')), /inside phase "a"/],
      ['a name twice', (p: AtomicPhase) => one(p, 'a').then(() => one(p, 'a')), /already used/],
      ['a reserved name', (p: AtomicPhase) => one(p, 'started'), /every request begins/],
      ['a result that is no JSON', (p: AtomicPhase) => p.local('a', async () => 1n), /BigInt/],
    ])('still report misuse: %s', async (_, use, message) => {
      app.handle('ride', use);

      expect((await app.post('ride', undefined)).status).toBe(500);
      expect(app.logs).toEqual([expect.stringMatching(message)]);
      expect(app.logs[0]).toMatch(/^PhaseUsageError/);
    });
  },
  { idempotency: { required: false } },
);
