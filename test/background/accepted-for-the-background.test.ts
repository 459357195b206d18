import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { send } from '../support/http.js';
import { startRides, type RidesApp } from './rides-app.js';
import { declined, timedOut } from './rides.js';

forEachPlatform('A request accepted for the background', (platform) => {
  let app: RidesApp;
  beforeAll(async () => {
    app = await startRides(platform, { run: 'background' }, { statusPath: 'operations' });
  });
  afterAll(() => app.close());

  it('gets 202 until a worker has finished, and then the real answer', async () => {
    const accepted = await app.request('a');
    expect(accepted.status).toBe(202);
    expect(Number(accepted.headers.get('retry-after'))).toBeGreaterThan(0);
    const { id } = await keyRow(app.database, 'a');
    expect(accepted.headers.get('location')).toBe(`/operations/${id}`);
    expect(await keyRow(app.database, 'a')).toMatchObject({
      status: 'pending',
      operation: 'rides.create',
      input: { target: 'mars' },
    });
    expect(app.rides.runs).toBe(0);

    const again = await app.request('a');
    expect(again.status).toBe(202);
    expect(again.headers.get('location')).toBe(`/operations/${id}`);
    expect((await app.request('a', { target: 'venus' })).status).toBe(422);

    expect(await runJob(app, 'completer')).toBe(1);
    expect(app.rides.runs).toBe(1);
    const answer = await app.request('a');
    expect(answer.status).toBe(201);
    expect(answer.json()).toMatchObject({ charge: app.provider.charges.at(-1) });
    const replay = await app.request('a');
    expect(replay.body).toEqual(answer.body);
    expect(app.rides.runs).toBe(1);
  });

  it('gets the rejection that the worker received', async () => {
    app.provider.troubles.push(declined);
    await app.request('b');
    await runJob(app, 'completer');
    expect((await app.request('b')).status).toBe(402);
    expect((await app.request('b')).headers.get('idempotent-replayed')).toBe('true');
  });

  it('gets 202 after a failure as well, and a worker makes the next attempt', async () => {
    app.provider.troubles.push(timedOut);
    await app.request('c');
    await runJob(app, 'completer');
    expect((await app.request('c')).status).toBe(202);
    await age(app.database, 'c');
    await runJob(app, 'completer');
    expect((await app.request('c')).status).toBe(201);
  });

  it('shows its progress to its caller and to nobody else', async () => {
    await app.request('d');
    const { id } = await keyRow(app.database, 'd');
    const status = () => send(`${app.url}/operations/${id}`, { method: 'GET' });
    expect((await status()).json()).toMatchObject({
      id,
      status: 'pending',
      done: false,
      outcome: null,
      recoveryPoint: 'started',
      attempts: 1,
    });
    await runJob(app, 'completer');
    const outcome = { kind: 'finished', result: { charge: app.provider.charges.at(-1) } };
    expect((await status()).json()).toMatchObject({
      status: 'performed',
      done: true,
      recoveryPoint: 'charge_created',
      attempts: 2,
      completedAt: expect.any(String),
      outcome,
    });
    await app.request('d');
    expect((await status()).json()).toMatchObject({
      status: 'completed',
      done: true,
      recoveryPoint: 'finished',
      attempts: 3,
      outcome,
    });

    await app.database.query(`UPDATE idempotency_keys SET scope = 'another' WHERE key = 'd'`);
    expect((await status()).status).toBe(404);
    for (const wrong of ['0', 'x', '99999999999999999999', '%27']) {
      const answer = await send(`${app.url}/operations/${wrong}`, { method: 'GET' });
      expect(answer.status).toBe(404);
    }
  });
});
