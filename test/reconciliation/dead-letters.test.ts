import { randomUUID } from 'node:crypto';
import { Controller, Post, type Type } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { PlainCiphers } from '../../lib/encryption/plain-cipher.js';
import { ReconcilerJob } from '../../lib/background/reconciler-job.js';
import { Database } from '../../lib/postgres/database.js';
import { ReconcilerStore } from '../../lib/background/reconciler-store.js';
import { ResolutionStore } from '../../lib/resolution/resolution-store.js';
import { Reconcilers } from '../../lib/phases/reconciler.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { describePhases } from '../support/phase-app.js';
import { passTime } from '../support/time.js';
import { until } from '../support/until.js';
import { Charges, handleCharge } from './charges.js';

@Controller('plain')
class PlainController {
  @Post()
  @Idempotent({ onServerError: 'unknown' })
  fail(): void {
    throw new Error('a bug');
  }
}

describePhases(
  'Unknown outcomes',
  (app) => {
    let charges: Charges;
    let key: string;
    beforeEach(async () => {
      charges = app.app.get(Charges);
      charges.says = () => ({ outcome: 'unknown' });
      key = randomUUID();
      await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
    });

    describe('An outcome that stays unknown', () => {
      it('is left to people after the last question, and the log says what to do', async () => {
        const calls = handleCharge(app);
        await app.post('charge', key);
        const [effectKey] = calls;
        for (const reason of ['in_doubt', 'reconciliation_exhausted']) {
          await runJob(app, 'reconciler');
          expect(await keyRow(app.database, key)).toMatchObject({
            status: 'unknown',
            last_error_code: reason,
          });
          await passTime(app.database, key, '3 hours');
        }
        expect((await keyRow(app.database, key)).reconcile_after).toBe(Infinity);
        expect(app.logs).toContainEqual(
          expect.stringMatching(`still unknown after 2 questions.*resolve\\('${effectKey}'`),
        );

        const asked = charges.asked.length;
        expect(await runJob(app, 'reconciler')).toBe(0);
        expect(charges.asked).toHaveLength(asked);
      });

      it('is asked about again on request', async () => {
        handleCharge(app);
        await app.post('charge', key);
        await runJob(app, 'reconciler');
        await passTime(app.database, key, '3 hours');
        await runJob(app, 'reconciler');
        const { id } = await keyRow(app.database, key);

        charges.says = () => ({ outcome: 'executed', result: { id: 'ch_1' } });
        expect(await operatorOf(app).retry(id, 'an operator')).toMatchObject({ changed: true });
        // The job is on here, and woken.
        await until(async () => (await keyRow(app.database, key)).status === 'failed_retryable');
        expect((await app.post('charge', key)).json()).toEqual({ id: 'ch_1' });
      });

      it.each<[string, () => unknown, RegExp]>([
        ['throws', () => Promise.reject(new Error('provider is down')), /provider is down/],
        ['answers nothing', () => undefined, /answered undefined/],
        [
          'answers what cannot be stored',
          () => ({ outcome: 'executed', result: 1n }),
          /cannot be stored/,
        ],
      ])('has a reconciler that %s', async (_, says, log) => {
        handleCharge(app);
        await app.post('charge', key);
        charges.says = says;
        await runJob(app, 'reconciler');
        expect(await keyRow(app.database, key)).toMatchObject({
          status: 'unknown',
          reconcile_attempts: 1,
        });
        expect(await app.phases(key)).toMatchObject([{ state: 'intended' }]);
        expect(app.logs).toContainEqual(expect.stringMatching(log));
      });
    });

    describe('A reconciler that never answers', () => {
      const job = (patience: number) => {
        const get = <T>(token: Type<T>) => app.app.get(token, { strict: false });
        return new ReconcilerJob(
          new ReconcilerStore(get(Database), new PlainCiphers()),
          get(ResolutionStore),
          get(Reconcilers),
          10,
          () => undefined,
          patience,
        );
      };
      beforeEach(async () => {
        handleCharge(app);
        await app.post('charge', key);
        charges.says = () => new Promise(() => undefined);
      });

      it('is not waited for beyond its time', async () => {
        expect(await job(10).run(10)).toBe(1);
        expect(app.logs).toContainEqual(expect.stringContaining('did not answer within 0.01 s'));
        expect(await keyRow(app.database, key)).toMatchObject({
          status: 'unknown',
          reconcile_attempts: 1,
        });
      });

      it('does not delay a shutdown', async () => {
        const reconciler = job(600_000);
        const asked = charges.asked.length;
        const running = reconciler.run(10);
        await until(() => charges.asked.length > asked);
        await reconciler.close(0);
        expect(await running).toBe(1);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
      });
    });

    describe('An unknown key without a call in doubt', () => {
      it('is left to people at once, and reported once', async () => {
        await send(`${app.url}/plain`, { key });
        const { id } = await keyRow(app.database, key);
        await runJob(app, 'reconciler');
        await runJob(app, 'reconciler');
        expect(app.logs.filter((line) => line.includes(`key ${id} is unknown`))).toEqual([
          expect.stringMatching(/\(http_500\).*resolveKey\(\)/),
        ]);
        expect(await keyRow(app.database, key)).toMatchObject({
          status: 'unknown',
          last_error_code: 'http_500',
          reconcile_after: Infinity,
        });
      });
    });

    describe('A phase that has no reconciler in this process', () => {
      it('waits for a process that has one, and is reported once', async () => {
        app.handle('tip', (phases) =>
          phases.foreign('tip_created', { call: () => Promise.reject(new Error('time-out')) }),
        );
        await app.post('tip', key);
        expect(await runJob(app, 'reconciler')).toBe(0);
        expect(await runJob(app, 'reconciler')).toBe(0);
        expect(app.logs.filter((line) => line.includes('"tip_created", and this'))).toHaveLength(1);
        const row = await keyRow(app.database, key);
        expect(row).toMatchObject({ status: 'unknown', reconcile_attempts: 0 });
        expect(row.reconcile_after).toBeInstanceOf(Date);
      });

      it('does not prevent questions about other keys', async () => {
        app.handle('tip', (phases) =>
          phases.foreign('tip_created', { call: () => Promise.reject(new Error('time-out')) }),
        );
        await app.post('tip', `${key}-tip`);
        handleCharge(app);
        await app.post('charge', key);
        charges.says = () => ({ outcome: 'not_executed' });
        expect(await runJob(app, 'reconciler')).toBe(1);
        expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
      });
    });
  },
  {
    providers: [Charges],
    controllers: [PlainController],
    idempotency: { maintenance: { ...off(), reconciler: { interval: '1h', maxAttempts: 2 } } },
  },
);

/** Every other job. */
function off() {
  return { sweeper: false, reaper: false, completer: false, outbox: false } as const;
}
