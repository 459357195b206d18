import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { IdempotencyTelemetryModule } from 'nestjs-atomic-idempotency/opentelemetry';
import { METRICS } from '../../lib/opentelemetry/metric-list.js';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { until } from '../support/until.js';
import { post, startObservedApp, type ObservedApp } from '../telemetry/observed-app.js';
import { CollectedMetrics } from './collected.js';

const ROUTE = { 'idempotency.route': 'PhasesController.run' };

forEachPlatform('Metrics', (platform) => {
  let app: ObservedApp;
  let collected: CollectedMetrics;
  let number = 0;
  let key: string;

  beforeAll(async () => {
    collected = new CollectedMetrics();
    const { provider: meterProvider } = collected;
    const telemetry = IdempotencyTelemetryModule.forRoot({
      meterProvider,
      traces: false,
      duplicatesPerScope: 2,
    });
    app = await startObservedApp(
      platform,
      {
        describeScope: (scope) => `customer ${scope.length}`,
        circuitBreaker: { failures: 2, after: 0 },
        limits: (scope) => (scope === 'limited' ? { newKeysPerSecond: 0.001, burst: 1 } : {}),
      },
      [telemetry],
    );
  });
  beforeEach(async () => {
    await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
    key = `key-${(number += 1)}`;
  });
  afterAll(() => app.close());

  /** By how much a metric grows while `work` runs. */
  async function growth(
    name: keyof typeof METRICS,
    attributes: Record<string, string>,
    work: () => Promise<unknown>,
  ): Promise<number> {
    const before = await collected.value(name, attributes);
    await work();
    return (await collected.value(name, attributes)) - before;
  }
  const decisions = (decision: string, code?: string) =>
    [
      'idempotency.request.decisions',
      {
        ...ROUTE,
        'idempotency.decision': decision,
        ...(code !== undefined && { 'error.type': code }),
      },
    ] as const;

  it('counts decisions: reserved, replayed, taken over, refused with the code', async () => {
    const order = (body?: object) => post(app, 'orders', key, body);
    expect(await growth(...decisions('reserved'), () => order())).toBe(1);
    expect(await growth(...decisions('replayed'), () => order())).toBe(1);
    expect(
      await growth(...decisions('refused', 'key_reused'), () => order({ text: 'another' })),
    ).toBe(1);

    await post(app, 'charges', `${key}-charge`);
    expect(
      await growth(...decisions('refused', 'outcome_unknown'), () =>
        post(app, 'charges', `${key}-charge`),
      ),
    ).toBe(1);
  });

  it('counts requests in progress', async () => {
    let duplicate: unknown;
    app.handle('slow', async () => {
      duplicate ??= await post(app, 'slow', key);
      return {};
    });
    expect(await growth(...decisions('refused', 'in_progress'), () => post(app, 'slow', key))).toBe(
      1,
    );
  });

  it('counts takeovers by retries and workers, and attempts that died', async () => {
    let failures = 0;
    app.handle('failing', async (phases) => {
      await phases.local('noted', async () => 1);
      if (failures++ === 0) throw new Error('a bug');
      return {};
    });
    await post(app, 'failing', key);
    const byRetry = { 'idempotency.by': 'retry' };
    expect(
      await growth('idempotency.attempt.takeovers', byRetry, async () => {
        expect(await growth(...decisions('taken_over'), () => post(app, 'failing', key))).toBe(1);
      }),
    ).toBe(1);

    await post(app, 'work/background', `${key}-background`);
    expect(
      await growth('idempotency.attempt.takeovers', { 'idempotency.by': 'worker' }, () =>
        runJob(app, 'completer'),
      ),
    ).toBe(1);

    await app.crash('noted:after_commit', 'failing', `${key}-dead`);
    expect(
      await growth('idempotency.attempt.deaths', { 'idempotency.found_by': 'retry' }, () =>
        app.post('failing', `${key}-dead`),
      ),
    ).toBe(1);
    await app.crash('noted:after_commit', 'failing', `${key}-swept`);
    await age(app.database, `${key}-swept`);
    expect(
      await growth('idempotency.attempt.deaths', { 'idempotency.found_by': 'sweeper' }, () =>
        runJob(app, 'sweeper'),
      ),
    ).toBe(1);
  });

  it('measures requests by route and outcome, in seconds', async () => {
    const name = 'idempotency.request.duration';
    expect(
      await growth(name, { ...ROUTE, 'idempotency.outcome': 'completed' }, () =>
        post(app, 'orders', key),
      ),
    ).toBe(1);
    expect(
      await growth(name, { ...ROUTE, 'idempotency.outcome': 'replayed' }, () =>
        post(app, 'orders', key),
      ),
    ).toBe(1);
    const [point] = await collected.points(name);
    expect((point!.value as { max: number }).max).toBeLessThan(30);
  });

  it('measures phases by name and outcome', async () => {
    const phase = (outcome: string) =>
      ({
        'idempotency.phase': 'charge_created',
        'idempotency.phase.kind': 'foreign',
        'idempotency.outcome': outcome,
      }) as Record<string, string>;
    expect(
      await growth('idempotency.phase.duration', phase('in_doubt'), () =>
        post(app, 'charges', key),
      ),
    ).toBe(1);
  });

  it('counts lost leases', async () => {
    app.handle('stolen', async () => {
      await app.database.query(
        'UPDATE idempotency_keys SET owner = gen_random_uuid() WHERE key = $1',
        [key],
      );
      return {};
    });
    expect(await growth('idempotency.lease.losses', ROUTE, () => post(app, 'stolen', key))).toBe(1);
  });

  it('counts unknown outcomes, failed questions, and resolutions by whom', async () => {
    expect(
      await growth('idempotency.outcome.unknown', { 'error.type': 'in_doubt' }, () =>
        post(app, 'charges', key),
      ),
    ).toBe(1);
    app.charges.says = async () => ({ outcome: 'unknown' });
    expect(
      await growth(
        'idempotency.reconciliation.failures',
        { 'idempotency.left_to': 'reconciler' },
        () => runJob(app, 'reconciler'),
      ),
    ).toBe(1);
    app.charges.says = async () => ({ outcome: 'executed', result: 1 });
    await passTime(app.database, key, '3 hours');
    expect(
      await growth('idempotency.resolutions', { 'idempotency.by': 'reconciler' }, () =>
        runJob(app, 'reconciler'),
      ),
    ).toBe(1);

    await app.crash('reserved', 'orders', `${key}-plain`);
    await app.post('orders', `${key}-plain`);
    const { id } = await keyRow(app.database, `${key}-plain`);
    expect(
      await growth('idempotency.resolutions', { 'idempotency.by': 'operator' }, () =>
        operatorOf(app).resolveKey(id, { outcome: 'retryable' }, 'alice@example.com'),
      ),
    ).toBe(1);
  });

  it('counts what the reaper does', async () => {
    await post(app, 'orders', key);
    await passTime(app.database, key, '3 days');
    expect(
      await growth('idempotency.keys.reaped', { 'idempotency.outcome': 'removed' }, () =>
        runJob(app, 'reaper'),
      ),
    ).toBe(1);
  });

  it('counts deliveries by topic and outcome', async () => {
    const deliveries = (outcome: string) =>
      [
        'idempotency.outbox.deliveries',
        { 'messaging.destination.name': 'mails', 'idempotency.outcome': outcome },
      ] as const;
    await app.database.query('TRUNCATE idempotency_outbox');
    await post(app, 'work/now', key);
    expect(await growth(...deliveries('delivered'), () => runJob(app, 'outbox'))).toBe(1);
    app.mails.fails = true;
    await post(app, 'work/now', `${key}-2`);
    expect(await growth(...deliveries('failed'), () => runJob(app, 'outbox'))).toBe(1);
    await app.database.query('UPDATE idempotency_outbox SET available_at = now()');
    expect(await growth(...deliveries('dead'), () => runJob(app, 'outbox'))).toBe(1);
    app.mails.fails = false;
  });

  it('counts what limits refused, by limit', async () => {
    await post(app, 'orders', key, {}, 'limited');
    const limit = { ...ROUTE, 'idempotency.limit': 'newKeysPerSecond' };
    const another = () => post(app, 'orders', `${key}-another`, {}, 'limited');
    expect(
      await growth('idempotency.limits.refusals', limit, async () => {
        expect(await growth(...decisions('refused', 'rate_limited'), another)).toBe(1);
      }),
    ).toBe(1);
  });

  it('counts what the store refused, and measures jobs that fail', async () => {
    await app.proxy.refuse();
    try {
      expect(
        await growth('idempotency.store.errors', {}, async () => {
          const opened = () => post(app, 'orders', key);
          expect(await growth('idempotency.breaker.openings', {}, opened)).toBe(1);
        }),
      ).toBeGreaterThan(0);
      const failed = { 'idempotency.job': 'reaper', 'error.type': 'failed' };
      expect(
        await growth('idempotency.job.duration', failed, () =>
          expect(runJob(app, 'reaper')).rejects.toThrow(),
        ),
      ).toBe(1);
    } finally {
      await app.proxy.accept();
    }
    const closed = () => post(app, 'orders', key);
    expect(await growth('idempotency.breaker.open.duration', {}, closed)).toBe(1);
  });

  it('shows the scopes with the most duplicates, as describeScope names them', async () => {
    const customers = { few: 1, 'a few more': 2, 'by far the most': 3 };
    for (const [customer, duplicates] of Object.entries(customers)) {
      for (let sent = 0; sent <= 10 * duplicates; sent++) {
        await post(app, 'orders', key, {}, customer);
      }
    }
    const all = await collected.points('idempotency.scope.duplicates');
    const points = all.filter(({ value }) => value !== 0);
    expect(points.map(({ attributes }) => attributes)).toEqual([
      { 'idempotency.scope': 'customer 15' },
      { 'idempotency.scope': 'customer 10' },
    ]);
    expect(points[0]!.value).toBe(30);
  });

  it('has no metric that nothing leads to, and no other', async () => {
    // Gauges of the database come with the first reading.
    await until(async () => (await collected.points('idempotency.keys.unknown')).length > 0);
    const units = Object.entries(METRICS).map(([name, { unit }]) => [name, unit]);
    expect(await collected.names()).toEqual(Object.fromEntries(units));
  });

  it('has no attributes but those it names, and no scope among them', async () => {
    for (const [name, { attributes }] of Object.entries(METRICS)) {
      for (const point of await collected.points(name)) {
        expect([...attributes]).toEqual(expect.arrayContaining(Object.keys(point.attributes)));
        if (name === 'idempotency.scope.duplicates') continue;
        expect(JSON.stringify(point.attributes)).not.toContain('customer');
      }
    }
  });
});
