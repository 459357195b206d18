import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startRides, type RidesApp } from '../background/rides-app.js';
import { timedOut } from '../background/rides.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { describeExpiry, fail, routes } from './expiring-app.js';

describeExpiry('Abandoned requests', (app) => {
  it('that nobody retries are closed with 408, which is kept for one more retention', async () => {
    routes.answers(fail);
    await app.ask('orders', 'abandoned');
    const { id } = await keyRow(app.database, 'abandoned');
    await app.outlive('abandoned');
    expect(await app.reap()).toBe(1);
    expect(app.logs).toContainEqual(expect.stringMatching(`key ${id} was never finished.*408`));

    routes.answers((execution) => ({ execution }));
    const retry = await app.ask('orders', 'abandoned');
    expect(retry.status).toBe(408);
    expect(retry.json()).toMatchObject({ code: 'unfinished', retryable: false });
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(routes.executions).toBe(0);

    await passTime(app.database, 'abandoned', '23 hours');
    expect(await app.reap()).toBe(0);
    await passTime(app.database, 'abandoned', '2 hours');
    expect(await app.reap()).toBe(1);
    expect(await app.left()).toEqual({});
  });

  it('are not closed before their retention is over: until then a retry runs', async () => {
    routes.answers(fail);
    await app.ask('orders', 'late');
    await passTime(app.database, 'late', '23 hours');
    expect(await app.reap()).toBe(0);
    routes.answers((execution) => ({ execution }));
    expect((await app.ask('orders', 'late')).status).toBe(201);
  });
});

forEachPlatform('Abandoned operations', (platform) => {
  let app: RidesApp;
  beforeAll(async () => {
    app = await startRides(platform, { run: 'background' });
  });
  afterAll(() => app.close());

  it('that still wait get a last attempt, and are completed if possible', async () => {
    expect((await app.request('waiting')).status).toBe(202);
    await passTime(app.database, 'waiting', '3 days');
    expect(await runJob(app, 'reaper')).toBe(1);
    expect(await keyRow(app.database, 'waiting')).toMatchObject({
      status: 'pending',
      last_error_code: 'overdue',
    });
    expect(await runJob(app, 'reaper')).toBe(0);
    expect(await runJob(app, 'completer')).toBe(1);
    expect((await app.request('waiting')).status).toBe(201);
  });

  it('that nobody completes are closed with 408 after it', async () => {
    await app.request('hopeless');
    await app.database.query(
      `UPDATE idempotency_keys SET operation = 'of an old deployment' WHERE key = 'hopeless'`,
    );
    await passTime(app.database, 'hopeless', '25 hours');
    expect(await runJob(app, 'reaper')).toBe(1);
    await passTime(app.database, 'hopeless', '59 minutes');
    expect(await runJob(app, 'reaper')).toBe(0);
    await passTime(app.database, 'hopeless', '2 minutes');
    expect(await runJob(app, 'reaper')).toBe(1);
    expect(await keyRow(app.database, 'hopeless')).toMatchObject({
      status: 'completed',
      response_status: 408,
      resume_after: null,
    });
    expect((await app.request('hopeless')).json()).toMatchObject({ code: 'unfinished' });
  });

  it('with a call in doubt are not closed: they become unknown, and are reconciled', async () => {
    app.provider.troubles.push(timedOut);
    await app.request('doubtful', { target: 'mars', inDoubt: 'repeat' });
    await runJob(app, 'completer');
    expect(await keyRow(app.database, 'doubtful')).toMatchObject({
      status: 'failed_retryable',
      last_error_code: 'in_doubt',
    });
    await passTime(app.database, 'doubtful', '25 hours');
    expect(await runJob(app, 'reaper')).toBe(1); // The last chance.
    await passTime(app.database, 'doubtful', '2 hours');
    expect(await runJob(app, 'reaper')).toBe(1);
    const row = await keyRow(app.database, 'doubtful');
    expect(row).toMatchObject({ status: 'unknown', resume_after: null, response_status: null });
    expect(row.reconcile_after).toBeInstanceOf(Date);
    expect(await runJob(app, 'reaper')).toBe(0);
  });
});
