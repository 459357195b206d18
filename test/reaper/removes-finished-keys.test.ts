import { expect, it } from '@jest/globals';
import { startRides } from '../background/rides-app.js';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { auditOf, operatorOf } from '../support/operator.js';
import { passTime } from '../support/time.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { describeExpiry, fail, routes } from './expiring-app.js';

describeExpiry('The reaper', (app, platform) => {
  it('removes a finished key when its retention is over, and not before', async () => {
    await app.ask('orders', 'old');
    await app.ask('orders', 'young');
    await passTime(app.database, 'young', '23 hours');
    expect(await app.reap()).toBe(0);

    await app.outlive('old');
    expect(await app.reap()).toBe(1);
    expect(await app.left()).toEqual({ young: 'completed' });
    expect((await app.ask('orders', 'old')).json()).toEqual({ execution: 3 });
  });

  it('never removes a key that is kept forever, runs or is unknown', async () => {
    const gate = barrier();
    await app.ask('forever', 'for-ever');
    routes.answers(fail);
    await app.ask('unknown', 'unknown');
    routes.answers(() => gate.pass());
    const running = app.ask('orders', 'running');
    await gate.arrived();
    await app.database.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '9 years',
         expires_at = now() - interval '1 year' WHERE expires_at IS NOT NULL`,
    );
    expect(await app.reap()).toBe(0);
    expect(await app.left()).toEqual({
      'for-ever': 'completed',
      running: 'in_progress',
      unknown: 'unknown',
    });
    gate.open();
    // It ran longer than its retention, so its answer is kept for a window of its own.
    expect((await running).status).toBe(201);
    expect(await app.reap()).toBe(0);
    expect((await app.ask('orders', 'running')).headers.get('idempotent-replayed')).toBe('true');
  });

  it('does not remove a key that is being completed meanwhile', async () => {
    const gate = barrier();
    routes.answers(() => gate.pass());
    const running = app.ask('orders', 'completing');
    await gate.arrived();
    await passTime(app.database, 'completing', '25 hours');
    const { scope, id } = await keyRow(app.database, 'completing');
    await withTransaction(app.database, async (tx) => {
      // The completion comes to wait behind this lock; the reaper finds the row taken.
      await tx.query('SELECT FROM idempotency_keys WHERE scope = $1 AND id = $2 FOR UPDATE', [
        scope,
        id,
      ]);
      gate.open();
      await untilBlocked(app.database);
      expect(await app.reap()).toBe(0);
      await tx.query('COMMIT');
    });
    expect((await running).status).toBe(201);
    expect(await app.reap()).toBe(0);
    expect(await app.left()).toEqual({ completing: 'completed' });
  });

  it('also removes an operation that was finished without its client', async () => {
    const rides = await startRides(platform);
    rides.provider.troubles.push(fail);
    await rides.request('lost');
    await passTime(rides.database, 'lost', '1 hour');
    await runJob(rides, 'completer');
    expect(await keyRow(rides.database, 'lost')).toMatchObject({ status: 'performed' });
    await passTime(rides.database, 'lost', '24 hours');
    expect(await runJob(rides, 'reaper')).toBe(1);
    expect(await rides.database.query('SELECT * FROM idempotency_phases')).toEqual([]);
    await rides.close();
  });

  it('removes phases whose key somebody else has removed', async () => {
    await app.database.query(
      `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt)
       VALUES ('', 1, 'ride_created', 1, 'local', 'finished', 1)`,
    );
    await app.database.query('DELETE FROM idempotency_keys WHERE id = 1');
    expect(await app.reap()).toBe(0);
    expect(await app.database.query('SELECT FROM idempotency_phases')).toEqual([]);
  });

  it('keeps the decisions about a key that it removes', async () => {
    routes.answers(fail);
    await app.ask('unknown', 'decided');
    const { id } = await keyRow(app.database, 'decided');
    const answer = { status: 201, body: {} };
    await operatorOf(app).resolveKey(id, { outcome: 'completed', answer }, 'support');
    await app.outlive('decided');
    expect(await app.reap()).toBe(1);
    expect(await app.left()).toEqual({});
    expect(await auditOf(app.database, 'decided')).toMatchObject([{ action: 'resolve_key' }]);
  });
});
