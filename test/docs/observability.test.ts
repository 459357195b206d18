import { describe, expect, it } from '@jest/globals';
import { METRICS } from '../../lib/opentelemetry/metric-list.js';
import { tableOf } from './document.js';
import { eventRows, metricRows } from './telemetry-tables.js';

const GUIDE = 'guides/observability.md';

describe('The guide to observability', () => {
  it('lists the events of the code, in its words', async () => {
    expect(tableOf(GUIDE, 'event')).toEqual(await eventRows());
  });

  it('lists the metrics of the code', async () => {
    expect(tableOf(GUIDE, 'metric')).toEqual(metricRows());
  });

  it('leads from each metric that others ask for to one of ours', async () => {
    const rows = tableOf(GUIDE, 'name');
    expect(rows.map(([name]) => name)).toEqual([
      'api.idempotency.reserve.created.count',
      'api.idempotency.reserve.replay.count',
      'api.idempotency.reserve.in_progress.count',
      'api.idempotency.reserve.key_misuse.count',
      'api.idempotency.reserve.failed_retry.count',
      'api.idempotency.reserve.unknown.count',
      'api.idempotency.store.error.count',
      'api.idempotency.zombie_key.count',
      'api.idempotency.ttl_pruned.count',
      'api.idempotency.reconcile.scheduled.count',
      'api.idempotency.reconcile.resolved.count',
      'api.idempotency.reconcile.failed.count',
    ]);
    for (const [, ours] of rows) {
      expect(Object.keys(METRICS)).toContain(ours!.split(' ')[0]);
    }
  });
});
