import { channel } from 'node:diagnostics_channel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Outbox } from 'nestjs-atomic-idempotency';
import { EVENT_NAMES } from '../../lib/telemetry/events.js';
import { isObserved, publish } from '../../lib/telemetry/publish.js';
import { keyRow, lapse } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { Heard } from './heard.js';
import { post, startObservedApp, type ObservedApp } from './observed-app.js';

const ROUTE = 'PhasesController.run';
const HASH = expect.stringMatching(/^[0-9a-f]{8}$/);
const KEY = { scope: HASH, key: HASH };
const DURATION = expect.any(Number);

describe('Without a listener', () => {
  it('nothing of an event is built', () => {
    expect(EVENT_NAMES.filter(isObserved)).toEqual([]);
    publish('job_ran', () => {
      throw new Error('built');
    });
  });
});

describe('Channels', () => {
  it('carry the events on node:diagnostics_channel', () => {
    const events = channel('nestjs-atomic-idempotency:pool_waited');
    const received: unknown[] = [];
    const receive = (event: unknown) => void received.push(event);
    events.subscribe(receive);
    publish('pool_waited', () => ({ duration: 3 }));
    events.unsubscribe(receive);
    expect(received).toEqual([{ duration: 3 }]);
  });
});

forEachPlatform('Events', (platform) => {
  let app: ObservedApp;
  let heard: Heard;
  let number = 0;
  let key: string;

  beforeAll(async () => {
    app = await startObservedApp(platform);
    heard = new Heard();
  });
  beforeEach(async () => {
    await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
    heard.clear();
    key = `key-of-the-client-${(number += 1)}`;
  });
  afterAll(async () => {
    heard.end();
    await app.close();
  });

  const idOf = async () => (await keyRow(app.database, key)).id as string;

  it('reserved, recorded, answered; then replayed, and refused with its code', async () => {
    await post(app, 'orders', key);
    const id = await idOf();
    const attempt = { id, ...KEY, route: ROUTE, attempt: 1 };
    expect(heard.of('reserved')).toEqual([attempt]);
    expect(heard.of('recorded')).toEqual([{ ...attempt, outcome: 'completed' }]);
    expect(heard.of('answered')).toEqual([
      { route: ROUTE, outcome: 'completed', code: undefined, duration: DURATION },
    ]);

    await post(app, 'orders', key);
    expect(heard.of('replayed')).toEqual([expect.objectContaining({ ...KEY, route: ROUTE })]);
    expect(heard.of('replayed')[0]!.key).toBe(heard.of('reserved')[0]!.key);

    await post(app, 'orders', key, { text: 'another' });
    expect(heard.of('refused')).toEqual([
      expect.objectContaining({ ...KEY, route: ROUTE, code: 'key_reused' }),
    ]);
    expect(heard.of('answered').map(({ outcome, code }) => [outcome, code])).toEqual([
      ['completed', undefined],
      ['replayed', undefined],
      ['refused', 'key_reused'],
    ]);
  });

  it('refused, without scope and key where they are not known', async () => {
    await app.post('orders', undefined);
    expect(heard.of('refused')).toEqual([{ route: ROUTE, code: 'key_missing' }]);
  });

  it('accepted, and recorded as pending, where a worker is to do it', async () => {
    await post(app, 'work/background', key);
    expect(heard.of('recorded')).toMatchObject([{ outcome: 'pending' }]);
    await post(app, 'work/background', key);
    expect(heard.of('accepted')).toMatchObject([{ route: 'WorkController.background', ...KEY }]);

    await runJob(app, 'completer');
    expect(heard.of('taken_over')).toMatchObject([
      { route: 'work.do', attempt: 2, byWorker: true, died: false },
    ]);
    expect(heard.of('recorded').at(-1)).toMatchObject({ route: 'work.do', outcome: 'performed' });
  });

  it('taken over, after a failure and after a death', async () => {
    let failures = 0;
    app.handle('failing', async (phases) => {
      await phases.local('noted', async () => 1);
      if (failures++ === 0) throw new Error('a bug');
      return {};
    });
    await post(app, 'failing', key);
    expect(heard.of('recorded')).toMatchObject([{ outcome: 'failed_retryable' }]);
    await post(app, 'failing', key);
    expect(heard.of('taken_over')).toMatchObject([
      { attempt: 2, recoveryPoint: 'noted', died: false, byWorker: false, route: ROUTE },
    ]);

    heard.clear();
    key = `${key}-dead`;
    await app.crash('noted:after_commit', 'failing', key);
    await app.post('failing', key);
    expect(heard.of('taken_over')).toMatchObject([{ attempt: 2, died: true }]);
  });

  it('lease lost', async () => {
    app.handle('stolen', async () => {
      await app.database.query(
        'UPDATE idempotency_keys SET owner = gen_random_uuid() WHERE key = $1',
        [key],
      );
      return {};
    });
    await post(app, 'stolen', key);
    expect(heard.of('lease_lost')).toMatchObject([
      { route: ROUTE, attempt: 1, recoveryPoint: 'started', ...KEY },
    ]);
    expect(app.logs.join('\n')).toMatch(
      /PhasesController\.run: attempt 1 of idempotency key \d+ \(scope [0-9a-f]{8}\) lost its lease/,
    );
  });

  it('phases: started, finished, recalled, failed, in doubt', async () => {
    let failures = 0;
    app.handle('phases', async (phases) => {
      await phases.local('noted', async () => 1);
      await phases.foreign('asked', { call: async () => 2 });
      if (failures++ === 0) throw new Error('a bug');
      await phases.local('broken', () => Promise.reject(new Error('no')));
    });
    await post(app, 'phases', key);
    const id = await idOf();
    const of = (phase: string, kind: string) => ({ id, route: ROUTE, phase, kind });
    expect(heard.of('phase_started')).toMatchObject([
      { ...of('noted', 'local'), earlier: undefined },
      of('asked', 'foreign'),
    ]);
    expect(heard.of('phase_finished')).toMatchObject([
      { ...of('noted', 'local'), outcome: 'finished', duration: DURATION },
      { ...of('asked', 'foreign'), outcome: 'finished', duration: DURATION },
    ]);

    heard.clear();
    await post(app, 'phases', key);
    expect(heard.of('phase_started')[0]).toMatchObject({ earlier: 'finished' });
    expect(heard.of('phase_finished')).toMatchObject([
      { phase: 'noted', outcome: 'recalled' },
      { phase: 'asked', outcome: 'recalled' },
    ]);
    expect(heard.of('phase_failed')).toMatchObject([
      { phase: 'broken', outcome: 'failed', duration: DURATION, error: 'Error: no' },
    ]);

    heard.clear();
    key = `${key}-in-doubt`;
    await post(app, 'charges', key);
    expect(heard.of('phase_in_doubt')).toMatchObject([
      { phase: 'charge_created', kind: 'foreign', repeatable: false, route: ROUTE },
    ]);
    expect(heard.of('phase_failed')).toMatchObject([{ outcome: 'in_doubt' }]);
    expect(heard.of('became_unknown')).toMatchObject([{ why: 'in_doubt', route: ROUTE, ...KEY }]);
    expect(app.logs.join('\n')).toMatch(
      /PhasesController\.run: the outcome of idempotency key \d+ \(scope [0-9a-f]{8}\) is unknown \(in_doubt\)/,
    );
  });

  it('unknown outcomes: a question in vain, resolved by the reconciler, and by people', async () => {
    await post(app, 'charges', key);
    const id = await idOf();
    app.charges.says = async () => ({ outcome: 'unknown' });
    await runJob(app, 'reconciler');
    expect(heard.of('reconciliation_failed')).toEqual([
      { id, ...KEY, phase: 'charge_created', leftToPeople: false },
    ]);

    app.charges.says = async () => ({ outcome: 'executed', result: 1 });
    await passTime(app.database, key, '3 hours');
    await runJob(app, 'reconciler');
    expect(heard.of('resolved')).toEqual([
      {
        id,
        ...KEY,
        action: 'resolve',
        who: 'reconciler',
        phase: 'charge_created',
        status: 'failed_retryable',
      },
    ]);

    heard.clear();
    key = `${key}-plain`;
    await app.crash('reserved', 'orders', key);
    await app.post('orders', key);
    expect(heard.of('became_unknown')).toMatchObject([{ why: 'abandoned', route: ROUTE }]);
    await runJob(app, 'reconciler');
    expect(heard.of('reconciliation_failed')).toMatchObject([
      { phase: undefined, leftToPeople: true },
    ]);
    await operatorOf(app).resolveKey(await idOf(), { outcome: 'retryable' }, 'alice');
    expect(heard.of('resolved')).toMatchObject([
      { action: 'resolve_key', who: 'alice', status: 'failed_retryable' },
    ]);
  });

  it('decided: what else an operator does', async () => {
    await post(app, 'orders', key);
    await operatorOf(app).evict(await idOf(), 'alice');
    expect(heard.of('decided')).toMatchObject([{ action: 'evict', who: 'alice', ...KEY }]);
  });

  it('swept, as resumable and as unknown', async () => {
    app.handle('noting', (phases) => phases.local('noted', async () => 1));
    await app.crash('noted:after_commit', 'noting', key);
    await age(app.database, key);
    await runJob(app, 'sweeper');
    expect(heard.of('swept')).toMatchObject([{ id: await idOf(), attempt: 1, why: undefined }]);

    heard.clear();
    key = `${key}-plain`;
    await app.crash('reserved', 'orders', key);
    await age(app.database, key);
    await runJob(app, 'sweeper');
    expect(heard.of('swept')).toMatchObject([{ why: 'abandoned' }]);
    expect(heard.of('became_unknown')).toMatchObject([{ why: 'abandoned' }]);
  });

  it('reaped', async () => {
    await runJob(app, 'reaper');
    heard.clear();
    await post(app, 'orders', key);
    const id = await idOf();
    await passTime(app.database, key, '3 days');
    await runJob(app, 'reaper');
    expect(heard.of('reaped')).toEqual([{ outcome: 'removed', ids: [id] }]);
  });

  it('messages: delivered, failed, dead, requeued', async () => {
    await app.database.query('TRUNCATE idempotency_outbox');
    await post(app, 'work/now', key);
    await runJob(app, 'outbox');
    const of = { topic: 'mails', id: app.mails.delivered.at(-1), duration: DURATION };
    expect(heard.of('outbox_delivered')).toEqual([{ ...of, attempt: 1 }]);

    app.mails.fails = true;
    key = `${key}-2`;
    await post(app, 'work/now', key);
    await runJob(app, 'outbox');
    expect(heard.of('outbox_failed')).toMatchObject([{ attempt: 1, error: expect.any(String) }]);
    await app.database.query('UPDATE idempotency_outbox SET available_at = now()');
    await runJob(app, 'outbox');
    expect(heard.of('outbox_dead')).toMatchObject([{ topic: 'mails', attempt: 2 }]);
    app.mails.fails = false;

    const [letter] = await app.app.get(Outbox).deadLetters();
    await app.app.get(Outbox).requeue(letter!.id, 'ops');
    expect(heard.of('outbox_requeued')).toEqual([{ id: letter!.id, topic: 'mails', who: 'ops' }]);
  });

  it('jobs, batches and waits for a connection', async () => {
    await runJob(app, 'reaper');
    expect(heard.of('job_ran')).toEqual([{ job: 'reaper', rows: 0, duration: DURATION }]);
    heard.clear();
    await post(app, 'orders', key);
    expect(heard.of('batch_sent')).toEqual([
      { statements: 'keys', size: 1 },
      { statements: 'keys', size: 1 },
    ]);
    expect(heard.of('pool_waited').length).toBeGreaterThan(0);
  });

  it('store unavailable, and a job that fails', async () => {
    await app.proxy.refuse();
    try {
      await post(app, 'orders', key);
      expect(heard.of('store_unavailable').length).toBeGreaterThan(0);
      expect(heard.of('refused')).toMatchObject([{ code: 'store_unavailable' }]);
      await expect(runJob(app, 'reaper')).rejects.toThrow();
      expect(heard.of('job_failed')).toEqual([
        { job: 'reaper', failures: 1, duration: DURATION, error: expect.any(String) },
      ]);
    } finally {
      await app.proxy.accept();
    }
  });

  it('no event has a scope, a key or a body in it', async () => {
    await post(app, 'orders', key);
    await post(app, 'orders', key);
    await post(app, 'charges', `${key}-charge`);
    await lapse(app.database, key);
    for (const secret of ['customer-of-the-test', 'key-of-the-client', 'the-body']) {
      expect(heard.everything).not.toContain(secret);
    }
  });
});
