import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { IdempotencyTelemetryModule } from 'nestjs-atomic-idempotency/opentelemetry';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { post, startObservedApp, type ObservedApp } from '../telemetry/observed-app.js';
import { CollectedSpans, linksOf, parentOf, traceparentOf } from './spans.js';

const REQUEST = 'idempotent PhasesController.run';

forEachPlatform('Traces', (platform) => {
  let app: ObservedApp;
  let spans: CollectedSpans;
  let number = 0;
  let key: string;

  beforeAll(async () => {
    spans = new CollectedSpans();
    const { provider: tracerProvider } = spans;
    app = await startObservedApp(platform, {}, [
      IdempotencyTelemetryModule.forRoot({ metrics: false, tracerProvider }),
    ]);
  });
  beforeEach(async () => {
    await app.database.query('TRUNCATE idempotency_keys, idempotency_outbox, idempotency_phases');
    spans.clear();
    key = `key-${(number += 1)}`;
  });
  afterAll(async () => {
    await app.close();
    spans.end();
  });

  it('a request, its phases and its foreign calls are one trace', async () => {
    app.handle('phases', async (phases) => {
      await phases.local('noted', async () => 1);
      return phases.foreign('asked', { call: async () => ({ answer: 2 }) });
    });
    await post(app, 'phases', key);
    const request = spans.one(REQUEST);
    const { spanId } = request.spanContext();
    expect(request.attributes).toEqual({
      'idempotency.route': 'PhasesController.run',
      'idempotency.outcome': 'completed',
    });
    const { id } = await keyRow(app.database, key);
    const local = spans.one('phase noted');
    expect(local.attributes).toEqual({
      'idempotency.phase': 'noted',
      'idempotency.phase.kind': 'local',
      'idempotency.key.id': id,
      'idempotency.attempt': 1,
    });
    const foreign = spans.one('phase asked');
    expect([local, foreign].map(parentOf)).toEqual([spanId, spanId]);
    const call = spans.one('call asked');
    expect(parentOf(call)).toBe(foreign.spanContext().spanId);
    expect(call.kind).toBe(SpanKind.CLIENT);
    expect(new Set(spans.all.map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it('what a handler and a call do is inside their spans', async () => {
    const inside: (string | undefined)[] = [];
    const note = () => inside.push(trace.getActiveSpan()?.spanContext().spanId);
    app.handle('noting', async (phases) => {
      note();
      await phases.foreign('asked', { call: async () => note() });
      note();
    });
    await post(app, 'noting', key);
    const [request, call] = [spans.one(REQUEST), spans.one('call asked')];
    expect(inside).toEqual([request, call, request].map((span) => span.spanContext().spanId));
  });

  it('requests that do not run have a span with their outcome', async () => {
    await post(app, 'orders', key);
    await post(app, 'orders', key);
    await post(app, 'orders', key, { text: 'another' });
    expect(spans.named(REQUEST).map(({ attributes }) => attributes)).toMatchObject([
      { 'idempotency.outcome': 'completed' },
      { 'idempotency.outcome': 'replayed' },
      { 'idempotency.outcome': 'refused', 'error.type': 'key_reused' },
    ]);
    expect(spans.all.map(({ status }) => status.code)).toEqual(Array(3).fill(SpanStatusCode.UNSET));
  });

  it('an outage, a phase and a call that fail are errors', async () => {
    await post(app, 'charges', key);
    for (const name of ['phase charge_created', 'call charge_created']) {
      expect(spans.one(name).status.code).toBe(SpanStatusCode.ERROR);
      expect(spans.one(name).attributes['error.type']).toBe('Error');
    }
    spans.clear();
    await app.proxy.refuse();
    try {
      await post(app, 'orders', key);
    } finally {
      await app.proxy.accept();
    }
    expect(spans.one(REQUEST).status.code).toBe(SpanStatusCode.ERROR);
    expect(spans.one(REQUEST).attributes['error.type']).toBe('store_unavailable');
  });

  it('the span is stored with the key, and a later attempt links to it', async () => {
    app.handle('noting', (phases) => phases.local('noted', async () => 1));
    await app.crash('noted:after_commit', 'noting', key);
    const { traceparent } = await keyRow(app.database, key);
    const [, , spanId] = traceparent.split('-');
    // The request that died has no end, and so no span.
    expect(spans.named(REQUEST)).toEqual([]);
    await app.post('noting', key);
    expect(linksOf(spans.one(REQUEST))).toEqual([spanId]);
    expect((await keyRow(app.database, key)).traceparent).toBe(traceparent);
  });

  it('worker, message and delivery belong to the trace of the request, and link to it', async () => {
    await post(app, 'work/background', key);
    const request = spans.one('idempotent WorkController.background');
    expect((await keyRow(app.database, key)).traceparent).toBe(traceparentOf(request));

    await runJob(app, 'completer');
    const attempt = spans.one('complete work.do');
    expect(attempt.attributes).toMatchObject({
      'idempotency.attempt': 2,
      'idempotency.outcome': 'performed',
    });
    expect(parentOf(attempt)).toBe(request.spanContext().spanId);
    expect(linksOf(attempt)).toEqual([request.spanContext().spanId]);
    const phase = spans.one('phase work_done');
    expect(parentOf(phase)).toBe(attempt.spanContext().spanId);

    const [message] = await app.database.query<{ traceparent: string }>(
      'SELECT traceparent FROM idempotency_outbox',
    );
    expect(message!.traceparent).toBe(traceparentOf(phase));
    await runJob(app, 'outbox');
    const delivery = spans.one('deliver mails');
    expect(delivery.kind).toBe(SpanKind.CONSUMER);
    expect(linksOf(delivery)).toEqual([phase.spanContext().spanId]);
    expect(delivery.spanContext().traceId).toBe(request.spanContext().traceId);
  });

  it('a question of the reconciler belongs to the trace of the request', async () => {
    await post(app, 'charges', key);
    await runJob(app, 'reconciler');
    const request = spans.one(REQUEST);
    expect(parentOf(spans.one('reconcile charge_created'))).toBe(request.spanContext().spanId);
    expect(linksOf(spans.one('reconcile charge_created'))).toEqual([request.spanContext().spanId]);
  });

  it('a job that did something has a span of its own, which belongs to no request', async () => {
    await post(app, 'orders', key);
    await passTime(app.database, key, '3 days');
    await spans.provider.getTracer('test').startActiveSpan('surroundings', async (span) => {
      await runJob(app, 'reaper');
      span.end();
    });
    const job = spans.one('job reaper');
    expect(job.parentSpanContext).toBeUndefined();
    expect(job.spanContext().traceId).not.toBe(spans.one('surroundings').spanContext().traceId);
    expect(job.attributes).toEqual({ 'idempotency.job': 'reaper', 'idempotency.rows': 1 });
  });

  it('a job that found nothing to do has no span', async () => {
    for (const job of ['sweeper', 'completer', 'reconciler', 'reaper', 'outbox'] as const) {
      expect(await runJob(app, job)).toBe(0);
    }
    expect(spans.names).toEqual([]);
  });

  it('a job that failed has a span with its error', async () => {
    await app.proxy.refuse();
    try {
      await expect(runJob(app, 'reaper')).rejects.toThrow();
    } finally {
      await app.proxy.accept();
    }
    const job = spans.one('job reaper');
    expect(job.status.code).toBe(SpanStatusCode.ERROR);
    expect(job.attributes['error.type']).toBe('StoreUnavailableError');
  });

  it('a trace that cannot be read does no harm', async () => {
    app.handle('noting', (phases) => phases.local('noted', async () => 1));
    await app.crash('noted:after_commit', 'noting', key);
    await age(app.database, key);
    await app.database.query(`UPDATE idempotency_keys SET traceparent = 'nonsense'`);
    expect((await app.post('noting', key)).status).toBe(201);
    expect(linksOf(spans.one(REQUEST))).toEqual([]);
  });
});
