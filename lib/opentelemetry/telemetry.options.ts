import { inspect } from 'node:util';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Duration } from '../policy/duration.js';
import { timerMilliseconds } from '../policy/resolve-policy.js';
import { refuseUnknownNames, type Names } from '../policy/unknown-names.js';
import type { DescribeActor } from './event-metrics.js';

export interface IdempotencyTelemetryOptions {
  /** Metrics. @default true */
  metrics?: boolean;

  /**
   * A span for each request with a key, phase, foreign call, delivery, and run of a
   * job that handled rows or failed.
   * @default true
   */
  traces?: boolean;

  /**
   * Gauges that need the database: unknown outcomes and their age, the lag of the
   * outbox, dead letters. One process at a time reads them, this often.
   * @default { interval: '15s' }
   */
  gauges?: false | { interval?: Duration };

  /**
   * Shows this many scopes, those with the most duplicates, under the label that
   * `describeScope` gives them. Scope is not an attribute of any other metric:
   * there may be as many scopes as customers.
   * @default false
   */
  duplicatesPerScope?: false | number;

  /**
   * What metrics show of who resolved an unknown outcome. Return one of a few
   * names, such as a team or the source of a webhook.
   * @default 'reconciler' for the job, and 'operator' for all others
   */
  describeActor?: DescribeActor;

  /** @default the global one */
  meterProvider?: MeterProvider;

  /** @default the global one */
  tracerProvider?: TracerProvider;
}

const WHERE = 'IdempotencyTelemetryModule options';

const NAMES = {
  metrics: true,
  traces: true,
  gauges: true,
  duplicatesPerScope: true,
  describeActor: true,
  meterProvider: true,
  tracerProvider: true,
} satisfies Names<IdempotencyTelemetryOptions>;

/** The options with every default filled in. */
export interface TelemetrySettings {
  metrics: boolean;
  traces: boolean;
  /** How often they are read, in milliseconds; undefined for never. */
  gaugeInterval: number | undefined;
  duplicatesPerScope: number;
  describeActor: DescribeActor;
  meterProvider: MeterProvider | undefined;
  tracerProvider: TracerProvider | undefined;
}

export function resolveTelemetry(options: IdempotencyTelemetryOptions = {}): TelemetrySettings {
  refuseUnknownNames(WHERE, options, NAMES);
  const { metrics = true, traces = true, gauges = {}, duplicatesPerScope = false } = options;
  const { describeActor = actor, meterProvider, tracerProvider } = options;
  for (const [name, value] of Object.entries({ metrics, traces })) {
    if (typeof value !== 'boolean') fail(`${name} is ${inspect(value)}. Use true or false.`);
  }
  if (!metrics && !traces) {
    fail('metrics and traces are both off, so the module would do nothing. Do not import it.');
  }
  if (typeof gauges !== 'object' && gauges !== false) {
    fail(`gauges is ${inspect(gauges)}. Use { interval: '15s' }, or false.`);
  }
  if (!metrics && (options.gauges || duplicatesPerScope)) {
    fail('gauges and duplicatesPerScope are metrics, and metrics is off. Remove them.');
  }
  if (gauges) refuseUnknownNames(WHERE, gauges, { interval: true }, 'gauges.');
  const interval = gauges && timerMilliseconds(WHERE, 'gauges.interval', gauges.interval ?? '15s');
  if (interval === 0) fail("gauges.interval is 0. Use a time such as '15s', or gauges: false.");
  if (
    duplicatesPerScope !== false &&
    !(Number.isSafeInteger(duplicatesPerScope) && duplicatesPerScope > 0)
  ) {
    fail(
      `duplicatesPerScope is ${inspect(duplicatesPerScope)}. Use how many scopes to show, such as 10, or false.`,
    );
  }
  if (typeof describeActor !== 'function') {
    fail(`describeActor is ${inspect(describeActor)}. Use a function that returns a name.`);
  }
  return {
    metrics,
    traces,
    gaugeInterval: metrics && interval !== false ? interval : undefined,
    duplicatesPerScope: duplicatesPerScope || 0,
    describeActor,
    meterProvider,
    tracerProvider,
  };
}

function actor(who: string): string {
  return who === 'reconciler' ? who : 'operator';
}

function fail(what: string): never {
  throw new IdempotencyConfigurationError(`${WHERE}: ${what}`);
}
