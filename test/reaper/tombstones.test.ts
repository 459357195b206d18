import { expect, it } from '@jest/globals';
import { AtomicPhase } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { passTime } from '../support/time.js';
import { describeExpiry, routes } from './expiring-app.js';

describeExpiry('Tombstones', (app) => {
  it('are left with onExpired: gone, for one more retention', async () => {
    const phases = app.app.get(AtomicPhase);
    routes.answers(async (execution) => {
      await phases.local('order_created', async () => undefined);
      return { execution };
    });
    await app.ask('gone', 'dear');
    const before = await keyRow(app.database, 'dear');
    await app.outlive('dear');
    expect(await app.reap()).toBe(1);

    const tombstone = await keyRow(app.database, 'dear');
    expect(tombstone).toMatchObject({
      id: before.id,
      status: 'expired',
      scope: before.scope,
      fingerprint: before.fingerprint,
      response_status: null,
      response_headers: null,
      response_body: null,
      response_version: null,
    });
    expect(await app.database.query('SELECT * FROM idempotency_phases')).toEqual([]);
    const retry = await app.ask('gone', 'dear');
    expect(retry.json()).toMatchObject({ status: 410, code: 'expired' });
    expect(routes.executions).toBe(1);

    await passTime(app.database, 'dear', '23 hours');
    expect(await app.reap()).toBe(0);
    expect(await app.left()).toEqual({ dear: 'expired' });
    await passTime(app.database, 'dear', '2 hours');
    expect(await app.reap()).toBe(1);
    expect(await app.left()).toEqual({});
    expect((await app.ask('gone', 'dear')).json()).toEqual({ execution: 2 });
  });

  it('give the same answer as the key before the reaper ran', async () => {
    await app.ask('gone', 'dear');
    await app.outlive('dear');
    expect((await app.ask('gone', 'dear')).status).toBe(410);
    await app.reap();
    expect((await app.ask('gone', 'dear')).status).toBe(410);
  });
});
