import type { BatchObservableCallback, Meter, ObservableGauge } from '@opentelemetry/api';
import type { GaugeReader } from './gauge-reader.js';
import type { Gauges } from './gauge-store.js';
import { METRICS, type GaugeName } from './metric-list.js';

const ASKED = { 'idempotency.left_to': 'reconciler' };
const LEFT = { 'idempotency.left_to': 'people' };

export function createGauge(meter: Meter, name: GaugeName): ObservableGauge {
  const { unit, description } = METRICS[name];
  return meter.createObservableGauge(name, { unit, description });
}

/** What a process shows when it does not read the gauges any more. */
const NOTHING: Gauges = {
  asked: 0,
  askedAge: 0,
  left: 0,
  leftAge: 0,
  operationsDue: 0,
  messagesDue: 0,
  lag: 0,
  deadLetters: 0,
};

/**
 * Shows what a reader has read, whenever metrics are collected. A process that
 * has shown the gauges shows zeros once another one reads them: OpenTelemetry
 * would repeat the last value for ever. So use the maximum over all processes.
 */
export function observeGauges(meter: Meter, reader: GaugeReader): () => void {
  const unknown = createGauge(meter, 'idempotency.keys.unknown');
  const oldest = createGauge(meter, 'idempotency.keys.unknown.oldest_age');
  const operations = createGauge(meter, 'idempotency.operations.due');
  const messages = createGauge(meter, 'idempotency.outbox.due');
  const lag = createGauge(meter, 'idempotency.outbox.lag');
  const dead = createGauge(meter, 'idempotency.outbox.dead_letters');
  const gauges = [unknown, oldest, operations, messages, lag, dead];
  let shown = false;
  const observe: BatchObservableCallback = (result) => {
    shown ||= reader.latest !== undefined;
    if (!shown) return;
    const latest = reader.latest ?? NOTHING;
    result.observe(unknown, latest.asked, ASKED);
    result.observe(unknown, latest.left, LEFT);
    result.observe(oldest, latest.askedAge, ASKED);
    result.observe(oldest, latest.leftAge, LEFT);
    result.observe(operations, latest.operationsDue);
    result.observe(messages, latest.messagesDue);
    result.observe(lag, latest.lag);
    result.observe(dead, latest.deadLetters);
  };
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}
