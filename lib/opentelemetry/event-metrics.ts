import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import type { EventName, IdempotencyEvents } from '../telemetry/events.js';
import { onIdempotencyEvent } from '../telemetry/publish.js';
import { METRICS, type CounterName, type HistogramName } from './metric-list.js';

/** From milliseconds to hours: a request may wait for a provider, and a job for a backlog. */
const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** A batch has 64 calls at most. */
const CALLS = [1, 2, 4, 8, 16, 32, 64];

/** Maps who resolved a key to an attribute with few values. */
export type DescribeActor = (who: string) => string;

/** Makes metrics of events. */
export class EventMetrics {
  private readonly instruments = new Map<string, Counter | Histogram>();
  private readonly ends: (() => void)[] = [];

  constructor(
    private readonly meter: Meter,
    describeActor: DescribeActor,
  ) {
    this.requests();
    this.phases();
    this.keys(describeActor);
    this.background();
  }

  /** Nothing is counted any more. */
  end(): void {
    for (const end of this.ends.splice(0)) end();
  }

  private requests(): void {
    const decided = (route: string, decision: string, code?: string) =>
      this.count('idempotency.request.decisions', {
        'idempotency.route': route,
        'idempotency.decision': decision,
        ...(code !== undefined && { 'error.type': code }),
      });
    this.on('reserved', ({ route }) => decided(route, 'reserved'));
    this.on('replayed', ({ route }) => decided(route, 'replayed'));
    this.on('accepted', ({ route }) => decided(route, 'accepted'));
    this.on('refused', ({ route, code }) => decided(route, 'refused', code));
    this.on('taken_over', ({ route, byWorker, died }) => {
      if (!byWorker) decided(route, 'taken_over');
      const by = byWorker ? 'worker' : 'retry';
      this.count('idempotency.attempt.takeovers', {
        'idempotency.route': route,
        'idempotency.by': by,
      });
      if (died) this.count('idempotency.attempt.deaths', { 'idempotency.found_by': by });
    });
    this.on('limited', ({ route, limit }) =>
      this.count('idempotency.limits.refusals', {
        'idempotency.route': route,
        'idempotency.limit': limit,
      }),
    );
    this.on('answered', ({ route, outcome, code, duration }) =>
      this.measure('idempotency.request.duration', duration / 1_000, {
        'idempotency.route': route,
        'idempotency.outcome': outcome,
        ...(code !== undefined && { 'error.type': code }),
      }),
    );
  }

  private phases(): void {
    const ended = ({ phase, kind, outcome, duration }: IdempotencyEvents['phase_finished']) =>
      this.measure('idempotency.phase.duration', duration / 1_000, {
        'idempotency.phase': phase,
        'idempotency.phase.kind': kind,
        'idempotency.outcome': outcome,
      });
    this.on('phase_finished', ended);
    this.on('phase_failed', ended);
  }

  private keys(describeActor: DescribeActor): void {
    this.on('lease_lost', ({ route }) =>
      this.count('idempotency.lease.losses', { 'idempotency.route': route }),
    );
    this.on('became_unknown', ({ why, route }) => {
      this.count('idempotency.outcome.unknown', { 'error.type': why });
      // A retry found the dead attempt before the sweeper did.
      if (why === 'abandoned' && route !== undefined) {
        this.count('idempotency.attempt.deaths', { 'idempotency.found_by': 'retry' });
      }
    });
    this.on('swept', () =>
      this.count('idempotency.attempt.deaths', { 'idempotency.found_by': 'sweeper' }),
    );
    this.on('resolved', ({ who }) =>
      this.count('idempotency.resolutions', { 'idempotency.by': describeActor(who) }),
    );
    this.on('reconciliation_failed', ({ leftToPeople }) =>
      this.count('idempotency.reconciliation.failures', {
        'idempotency.left_to': leftToPeople ? 'people' : 'reconciler',
      }),
    );
    this.on('reaped', ({ outcome, ids }) =>
      this.count('idempotency.keys.reaped', { 'idempotency.outcome': outcome }, ids.length),
    );
  }

  private background(): void {
    const delivery = (outcome: string) => (event: IdempotencyEvents['outbox_delivered']) =>
      this.count('idempotency.outbox.deliveries', {
        'messaging.destination.name': event.topic,
        'idempotency.outcome': outcome,
      });
    this.on('outbox_delivered', delivery('delivered'));
    this.on('outbox_failed', delivery('failed'));
    this.on('outbox_dead', delivery('dead'));
    this.on('store_unavailable', ({ code }) =>
      this.count('idempotency.store.errors', { 'error.type': code }),
    );
    this.on('breaker_opened', () => this.count('idempotency.breaker.openings', {}));
    this.on('breaker_closed', ({ duration }) =>
      this.measure('idempotency.breaker.open.duration', duration / 1_000, {}),
    );
    this.on('job_ran', ({ job, rows, duration }) => {
      this.measure('idempotency.job.duration', duration / 1_000, { 'idempotency.job': job });
      if (rows > 0) this.count('idempotency.job.rows', { 'idempotency.job': job }, rows);
    });
    this.on('job_failed', ({ job, duration }) =>
      this.measure('idempotency.job.duration', duration / 1_000, {
        'idempotency.job': job,
        'error.type': 'failed',
      }),
    );
    this.on('batch_sent', ({ statements, size }) =>
      this.measure('idempotency.batch.size', size, { 'idempotency.statements': statements }),
    );
    this.on('pool_waited', ({ duration }) =>
      this.measure('idempotency.pool.wait.duration', duration / 1_000, {}),
    );
  }

  private on<Name extends EventName>(
    name: Name,
    listener: (event: IdempotencyEvents[Name]) => void,
  ): void {
    this.ends.push(onIdempotencyEvent(name, listener));
  }

  private count(name: CounterName, attributes: Attributes, by = 1): void {
    (this.instrument(name) as Counter).add(by, attributes);
  }

  private measure(name: HistogramName, value: number, attributes: Attributes): void {
    (this.instrument(name) as Histogram).record(value, attributes);
  }

  /** Created when it is first needed. */
  private instrument(name: CounterName | HistogramName): Counter | Histogram {
    const made = this.instruments.get(name);
    if (made) return made;
    const { kind, unit, description } = METRICS[name];
    const instrument =
      kind === 'counter'
        ? this.meter.createCounter(name, { unit, description })
        : this.meter.createHistogram(name, {
            unit,
            description,
            advice: { explicitBucketBoundaries: unit === 's' ? SECONDS : CALLS },
          });
    this.instruments.set(name, instrument);
    return instrument;
  }
}
