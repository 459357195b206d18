import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { StatusStore } from '../../lib/background/status-store.js';
import { StatusStreams } from '../../lib/background/status-streams.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { listenTo } from './event-client.js';
import { startRides, type RidesApp } from './rides-app.js';
import { timedOut } from './rides.js';

const EVENTS = { accept: 'text/event-stream' };

forEachPlatform('Events of the status resource', (platform) => {
  let app: RidesApp;
  let streams: StatusStreams;
  beforeAll(async () => {
    app = await startRides(platform, { run: 'background' }, { statusPath: 'operations' });
    streams = app.app.get(StatusStreams, { strict: false });
  });
  afterAll(() => app.close());

  /** An operation that nobody has begun yet, and its address. */
  async function accept(key: string): Promise<string> {
    const accepted = await app.request(key);
    return `${app.url}${accepted.headers.get('location')}`;
  }

  it('tell each change of state and recovery point, and end when the operation is done', async () => {
    const client = await listenTo(await accept('story'));
    expect(client.status).toBe(200);
    expect(client.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': expect.stringContaining('no-transform'),
      'x-accel-buffering': 'no',
    });
    const first = await client.next();
    expect(first).toMatchObject({
      event: 'progress',
      data: { status: 'pending', recoveryPoint: 'started', done: false, outcome: null },
    });
    expect(client.events[0]).toEqual({ retry: '2000' });

    app.provider.troubles.push(timedOut);
    await runJob(app, 'completer');
    const second = await client.told('failed_retryable');
    expect(second).toMatchObject({
      event: 'progress',
      data: { status: 'failed_retryable', recoveryPoint: 'ride_created' },
    });

    await age(app.database, 'story');
    await runJob(app, 'completer');
    const last = await client.told('performed');
    expect(last).toMatchObject({
      event: 'done',
      data: { status: 'performed', done: true, outcome: { kind: 'finished' } },
    });
    await client.ended;
    expect(new Set([first.id, second.id, last.id]).size).toBe(3);
    await until(() => streams.size === 0);
  });

  it('end at once where the operation is done, and tell a client that knows so not to come back', async () => {
    const url = await accept('finished');
    await runJob(app, 'completer');
    const client = await listenTo(url);
    const { event, id } = await client.next();
    expect(event).toBe('done');
    await client.ended;

    const again = await send(url, { method: 'GET', headers: { ...EVENTS, 'last-event-id': id! } });
    expect(again.status).toBe(204);
  });

  it('are not repeated for a client that comes back', async () => {
    const url = await accept('reconnected');
    const client = await listenTo(url);
    const { id } = await client.next();
    client.leave();
    await until(() => streams.size === 0);

    const back = await listenTo(url, { 'last-event-id': id! });
    await runJob(app, 'completer');
    expect(await back.told('performed')).toMatchObject({ event: 'done' });
    expect(back.events.map((event) => event.id)).not.toContain(id);
    await back.ended;
  });

  it('go on while the outcome is unknown', async () => {
    const url = await accept('doubtful');
    const client = await listenTo(url);
    await client.next();
    const { id } = await keyRow(app.database, 'doubtful');
    await app.database.query(
      `UPDATE idempotency_keys SET status = 'unknown', reconcile_after = 'infinity' WHERE id = $1`,
      [id],
    );
    expect(await client.next()).toMatchObject({ event: 'progress', data: { status: 'unknown' } });
    await app.database.query(
      `UPDATE idempotency_keys SET status = 'completed', reconcile_after = NULL WHERE id = $1`,
      [id],
    );
    expect(await client.next()).toMatchObject({ event: 'done', data: { status: 'completed' } });
    await client.ended;
  });

  it('end with the key', async () => {
    const client = await listenTo(await accept('removed'));
    await client.next();
    await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'removed'`);
    expect(await client.next()).toEqual({ event: 'gone', data: {} });
    await client.ended;
  });

  it('of all streams are found by one statement per look', async () => {
    const looks = jest.spyOn(app.app.get(StatusStore, { strict: false }), 'marks');
    const clients = [await listenTo(await accept('one')), await listenTo(await accept('two'))];
    const seen = () => looks.mock.calls.map(([keys]) => keys.length);
    await until(() => seen().includes(2));
    const together = seen().length;
    await until(() => seen().length > together);
    // Once both are there, no look is about one of them alone.
    expect(seen().slice(seen().indexOf(2))).not.toContain(1);
    for (const client of clients) client.leave();
    looks.mockRestore();
  });

  it('of several streams of one key are told to each', async () => {
    const url = await accept('shared');
    const clients = [await listenTo(url), await listenTo(url)];
    for (const client of clients) await client.next();
    await runJob(app, 'completer');
    for (const client of clients) {
      expect(await client.told('performed')).toMatchObject({ event: 'done' });
    }
  });

  it('are for clients that name them: others get JSON', async () => {
    const url = await accept('asked');
    for (const types of [
      undefined,
      '*/*',
      'text/*',
      'application/json',
      'text/event-stream;q=0',
      'application/json, text/event-stream;q=0.5',
    ]) {
      const answer = await send(url, { method: 'GET', headers: types ? { accept: types } : {} });
      expect([types, answer.headers.get('content-type')]).toEqual([
        types,
        expect.stringContaining('application/json'),
      ]);
    }
    const other = await send(`${app.url}/operations/999999`, { method: 'GET', headers: EVENTS });
    expect(other.status).toBe(404);
  });

  describe('have bounds:', () => {
    const { limits } = new StatusStreams(undefined!);
    it('so many streams at a time, and the next one gets 503 with Retry-After', async () => {
      const url = await accept('crowded');
      const client = await listenTo(url);
      streams.limits.streams = 1;
      const refused = await send(url, { method: 'GET', headers: EVENTS });
      streams.limits.streams = limits.streams;
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('5');
      client.leave();
    });

    it('a time, with comments that keep the connection alive until then', async () => {
      const client = await listenTo(await accept('quiet'));
      streams.limits.keepAlive = 0;
      await until(() => client.events.some(({ comment }) => comment !== undefined));
      streams.limits.keepAlive = limits.keepAlive;
      streams.limits.longest = 0;
      await client.ended;
      streams.limits.longest = limits.longest;
    });
  });
});

forEachPlatform('A shutdown', (platform) => {
  it('ends the streams of the status resource, and does not wait for their clients', async () => {
    const app = await startRides(platform, { run: 'background' }, { statusPath: 'operations' });
    const accepted = await app.request('a');
    const client = await listenTo(`${app.url}${accepted.headers.get('location')}`);
    await client.next();
    await Promise.all([app.close(), client.ended]);
    expect(client.events.at(-1)).toMatchObject({ event: 'progress' });
  });
});
