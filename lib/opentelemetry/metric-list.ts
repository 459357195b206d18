/** The metrics, by their OpenTelemetry names. */
export interface Metric {
  kind: 'counter' | 'histogram' | 'gauge';
  /** In UCUM, according to OpenTelemetry's conventions. */
  unit: string;
  description: string;
  /** The names of its attributes. None has values that clients choose. */
  attributes: readonly string[];
}

const ROUTE = 'idempotency.route';
const ERROR = 'error.type';

/** Every metric, with the meaning of its values. The table in docs/guides/observability.md is checked against it. */
export const METRICS = {
  'idempotency.request.decisions': {
    kind: 'counter',
    unit: '{request}',
    description: 'What requests with a key got.',
    attributes: [ROUTE, 'idempotency.decision', ERROR],
  },
  'idempotency.request.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long requests took, from the interceptor to the answer.',
    attributes: [ROUTE, 'idempotency.outcome', ERROR],
  },
  'idempotency.phase.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long phases took.',
    attributes: ['idempotency.phase', 'idempotency.phase.kind', 'idempotency.outcome'],
  },
  'idempotency.attempt.takeovers': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts that took a key over, by a retry or by a worker.',
    attributes: [ROUTE, 'idempotency.by'],
  },
  'idempotency.attempt.deaths': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts that were found dead: their lease lapsed before they ended.',
    attributes: ['idempotency.found_by'],
  },
  'idempotency.lease.losses': {
    kind: 'counter',
    unit: '{attempt}',
    description: 'Attempts that lost their lease while they ran.',
    attributes: [ROUTE],
  },
  'idempotency.outcome.unknown': {
    kind: 'counter',
    unit: '{key}',
    description: 'Keys whose outcome became unknown.',
    attributes: [ERROR],
  },
  'idempotency.resolutions': {
    kind: 'counter',
    unit: '{key}',
    description: 'Unknown outcomes that somebody resolved.',
    attributes: ['idempotency.by'],
  },
  'idempotency.reconciliation.failures': {
    kind: 'counter',
    unit: '{key}',
    description: 'Questions about an unknown outcome that did not resolve it.',
    attributes: ['idempotency.left_to'],
  },
  'idempotency.keys.reaped': {
    kind: 'counter',
    unit: '{key}',
    description: 'Keys past their retention that were removed, buried or closed.',
    attributes: ['idempotency.outcome'],
  },
  'idempotency.outbox.deliveries': {
    kind: 'counter',
    unit: '{delivery}',
    description: 'Deliveries of messages that have ended.',
    attributes: ['messaging.destination.name', 'idempotency.outcome'],
  },
  'idempotency.store.errors': {
    kind: 'counter',
    unit: '{statement}',
    description: 'Statements of the library that failed or got no reply.',
    attributes: [ERROR],
  },
  'idempotency.breaker.openings': {
    kind: 'counter',
    unit: '{opening}',
    description: 'How often the database failed so long that requests were refused at once.',
    attributes: [],
  },
  'idempotency.breaker.open.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long requests were refused at once, until the database answered again.',
    attributes: [],
  },
  'idempotency.limits.refusals': {
    kind: 'counter',
    unit: '{request}',
    description: 'New keys that were refused by a limit, and duplicates that it did not let wait.',
    attributes: [ROUTE, 'idempotency.limit'],
  },
  'idempotency.job.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long the runs of jobs took.',
    attributes: ['idempotency.job', ERROR],
  },
  'idempotency.job.rows': {
    kind: 'counter',
    unit: '{row}',
    description: 'Rows that jobs have handled, or begun to handle.',
    attributes: ['idempotency.job'],
  },
  'idempotency.batch.size': {
    kind: 'histogram',
    unit: '{call}',
    description: 'How many calls of requests were sent as one statement.',
    attributes: ['idempotency.statements'],
  },
  'idempotency.pool.wait.duration': {
    kind: 'histogram',
    unit: 's',
    description: 'How long statements waited for a connection of the pool.',
    attributes: [],
  },
  'idempotency.keys.unknown': {
    kind: 'gauge',
    unit: '{key}',
    description:
      'Keys whose outcome is unknown now: asked about by the reconciler, or left to people.',
    attributes: ['idempotency.left_to'],
  },
  'idempotency.keys.unknown.oldest_age': {
    kind: 'gauge',
    unit: 's',
    description: 'How long ago the last attempt of the oldest of them began.',
    attributes: ['idempotency.left_to'],
  },
  'idempotency.operations.due': {
    kind: 'gauge',
    unit: '{key}',
    description: 'Operations that wait for a worker although they are due.',
    attributes: [],
  },
  'idempotency.outbox.due': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages that wait for their delivery although they are due.',
    attributes: [],
  },
  'idempotency.outbox.lag': {
    kind: 'gauge',
    unit: 's',
    description: 'How long the oldest of them has been due.',
    attributes: [],
  },
  'idempotency.outbox.dead_letters': {
    kind: 'gauge',
    unit: '{message}',
    description: 'Messages that are not delivered any more until somebody requeues them.',
    attributes: [],
  },
  'idempotency.scope.duplicates': {
    kind: 'gauge',
    unit: '{request}',
    description:
      'Duplicates (replayed, accepted or in progress) of the scopes with the most of them, since the process started.',
    attributes: ['idempotency.scope'],
  },
} as const satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;

type NamesOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];

export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type GaugeName = NamesOf<'gauge'>;
