import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { auditOf } from '../support/operator.js';
import { startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { Charges, handleCharge } from './charges.js';

forEachPlatform('Reconciliation by several processes', (platform) => {
  let database: TestDatabase;
  let one: PhaseApp;
  let other: PhaseApp;
  beforeAll(async () => {
    database = await createTestDatabase();
    one = await startPhaseApp(platform, { database, providers: [Charges] });
    other = await startPhaseApp(platform, { database, providers: [Charges] });
  });
  afterAll(async () => {
    await Promise.all([one.close(), other.close()]);
    await database.drop();
  });
  const charges = (app: PhaseApp) => app.app.get(Charges);

  it('asks about a key in one process only', async () => {
    const key = randomUUID();
    const gate = barrier();
    handleCharge(one);
    await one.post('charge', key);
    charges(one).says = async () => {
      await gate.pass();
      return { outcome: 'executed', result: { id: 'ch_1' } };
    };
    const asking = runJob(one, 'reconciler');
    await gate.arrived();

    expect(await runJob(other, 'reconciler')).toBe(0);
    expect(await runJob(one, 'reconciler')).toBe(0);
    gate.open();
    expect(await asking).toBe(1);
    expect(charges(other).asked).toEqual([]);
    expect(await keyRow(database, key)).toMatchObject({ status: 'failed_retryable' });
  });

  it('shares many keys, and asks about each once', async () => {
    handleCharge(one);
    const keys = Array.from({ length: 12 }, () => randomUUID());
    for (const key of keys) {
      handleCharge(one);
      await one.post('charge', key);
    }
    const asked: string[] = [];
    for (const app of [one, other]) {
      charges(app).says = ({ idempotencyKey }) => {
        asked.push(idempotencyKey);
        return { outcome: 'not_executed' };
      };
    }
    const handled = await Promise.all([runJob(one, 'reconciler'), runJob(other, 'reconciler')]);
    expect(handled[0]! + handled[1]!).toBe(keys.length);
    expect(asked).toHaveLength(keys.length);
    expect(new Set(asked).size).toBe(keys.length);
  });

  it('continues in another process if one dies while it asks, and its late answer changes nothing', async () => {
    const key = randomUUID();
    const gate = barrier();
    handleCharge(one);
    await one.post('charge', key);
    charges(one).says = async () => {
      await gate.pass();
      return { outcome: 'not_executed' };
    };
    const late = runJob(one, 'reconciler');
    await gate.arrived();
    await passTime(database, key, '5 minutes');

    charges(other).says = () => ({ outcome: 'executed', result: { id: 'ch_1' } });
    expect(await runJob(other, 'reconciler')).toBe(1);
    gate.open();
    await late;
    expect(await one.phases(key)).toMatchObject([{ state: 'reconciled', result: { id: 'ch_1' } }]);
    expect(await auditOf(database, key)).toHaveLength(1);
  });
});
