import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IdempotencyModuleOptions } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { startOutboxApp } from '../outbox/outbox-app.js';
import { Charges, handleCharge } from '../reconciliation/charges.js';

/** What a database or a role may be set to, and the driver cannot read. */
const STYLES = ['German', 'SQL, DMY', 'Postgres, MDY'];

async function databaseWith(style: string): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(`ALTER DATABASE ${database.name} SET datestyle = '${style}'`);
  await database.query(`ALTER DATABASE ${database.name} SET timezone = 'Asia/Kolkata'`);
  return database;
}

/** A time of a moment ago, up to the milliseconds that two clocks on one machine differ by. */
function expectRecent(time: unknown): void {
  expect(time).toBeInstanceOf(Date);
  expect(Math.abs((time as Date).getTime() - Date.now())).toBeLessThan(600_000);
}

describe.each(STYLES)('With the date style "%s"', (style) => {
  onEachPlatform((platform) => {
    const charges = new Charges();
    let database: TestDatabase;
    let app: PhaseApp;
    beforeAll(async () => {
      database = await databaseWith(style);
      const idempotency: Partial<IdempotencyModuleOptions> & { statusPath: string } = {
        statusPath: 'operations',
      };
      app = await startPhaseApp(platform, {
        database,
        idempotency,
        providers: [{ provide: Charges, useValue: charges }],
      });
    });
    afterAll(async () => {
      await app.close();
      await database.drop();
    });

    it('answers and replays say until when the key is kept', async () => {
      app.handle('order', () => ({ order: 7 }));
      const day = 86_400_000;
      for (let i = 0; i < 2; i++) {
        const answer = await app.post('order', 'expires');
        const expires = new Date(answer.headers.get('idempotency-key-expires')!);
        expect(Math.abs(expires.getTime() - Date.now() - day)).toBeLessThan(600_000);
      }
    });

    it('the status resource shows its times', async () => {
      app.handle('order', () => ({ order: 7 }));
      await app.post('order', 'status');
      const { id } = await keyRow(database, 'status');
      const answer = await send(`${app.url}/operations/${id}`, { method: 'GET' });
      expectRecent(new Date(answer.json().createdAt));
      expectRecent(new Date(answer.json().completedAt));
    });

    it('reconcilers and operators get the time of a call', async () => {
      handleCharge(app);
      charges.says = () => ({ outcome: 'unknown' });
      await app.post('charge', 'doubt');
      await runJob(app, 'reconciler');
      expectRecent(charges.asked.at(-1)!.startedAt);

      const { id } = await keyRow(database, 'doubt');
      const operator = operatorOf(app);
      const inDoubt = (await operator.inspect(id))!.inDoubt!;
      expectRecent(inDoubt.startedAt);
      await operator.resolve(inDoubt.effectKey, { outcome: 'not_executed' }, { who: 'ada' });
      const report = (await operator.inspect(id))!;
      expectRecent(report.createdAt);
      expectRecent(report.phases[0]!.startedAt);
      expectRecent(report.audit[0]!.at);
      expectRecent(report.timeline[0]!.at);
    });

    it('a reconciler gets the time of the call of the last attempt', async () => {
      handleCharge(app, 'reconcile');
      charges.says = () => ({ outcome: 'not_executed' });
      await app.crash('charge_created:after_intent', 'charge', 'resumed');
      const before = charges.asked.length;
      const day = 86_400_000;
      await database.query(
        `UPDATE idempotency_phases SET started_at = now() - interval '24 hours'`,
      );
      await app.post('charge', 'resumed');
      expectRecent(new Date(charges.asked[before]!.startedAt.getTime() + day));
    });
  });

  it('messages and dead letters have their times', async () => {
    const database = await databaseWith(style);
    const delivered: Date[] = [];
    const app = await startOutboxApp({
      database,
      handlers: {
        orders: ({ createdAt }) => {
          delivered.push(createdAt);
          throw new Error('no');
        },
      },
      idempotency: { outbox: { maxAttempts: 1 } },
    });
    await app.add('orders', {});
    await app.deliver();
    expectRecent(delivered[0]);
    const [letter] = await app.outbox.deadLetters();
    expectRecent(letter!.createdAt);
    expectRecent(letter!.deadAt);
    await app.close();
    await database.drop();
  });
});
