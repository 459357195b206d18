import { randomUUID } from 'node:crypto';
import type { OperatorPageOptions } from 'nestjs-atomic-idempotency';
import type { TestDatabase } from '../support/database.js';
import {
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from '../support/idempotent-app.js';
import type { Platform } from '../support/platforms.js';

interface UserRequest {
  headers: Record<string, string | undefined>;
}

/** Who sends a request, in these tests: a header stands for a session. */
export function userOf(request: UserRequest): string | undefined {
  return request.headers['x-user'];
}

/** Ada may do everything, Rita may read, Tim may try again, and nobody else may come in. */
export const access: NonNullable<OperatorPageOptions['access']> = (request: UserRequest) => {
  switch (userOf(request)) {
    case 'ada':
    case 'grace':
      return { who: `${userOf(request)}@example.com`, may: 'all' };
    case 'rita':
      return { who: 'rita@example.com', may: 'read' };
    case 'tim':
      return { who: 'tim@example.com', may: ['retry'] };
    default:
      return undefined;
  }
};

export interface PageApp extends IdempotentApp {
  /** Where the page is. */
  page: string;
}

export async function startPageApp(
  platform: Platform,
  page: Partial<OperatorPageOptions> = {},
  { idempotency, ...options }: IdempotentAppOptions = {},
): Promise<PageApp> {
  const app = await startIdempotentApp(platform, {
    logger: false,
    ...options,
    idempotency: { ...idempotency, operatorPage: { path: 'operator', access, ...page } } as object,
  });
  return { ...app, page: `${app.url}/operator` };
}

export interface MadeKey {
  id: string;
  key: string;
  effectKey: string;
}

/** An unknown key, as the reconciler leaves it to people, with a payment in doubt. */
export async function insertUnknown(
  database: TestDatabase,
  fields: {
    key?: string;
    scope?: string;
    endpoint?: string;
    route?: string;
    phase?: string;
    age?: string;
  } = {},
): Promise<MadeKey> {
  const { key = randomUUID(), scope = 'acme', endpoint = '' } = fields;
  const { route = '/rides', phase = 'charge_created', age = '3 hours' } = fields;
  const effectKey = randomUUID();
  const [row] = await database.query<{ id: string }>(
    `INSERT INTO idempotency_keys (scope, endpoint, key, fingerprint, owner, status, attempt, last_error_code, locked_until,
                                   reconcile_attempts, reconcile_after, method, route, path, request,
                                   created_at, last_run_at, expires_at)
     VALUES ($1, $2, $3, '', $4, 'unknown', 2, 'reconciliation_exhausted', now(), 10, 'infinity', 'POST', $5, $5,
             '{"target":"moon"}', now() - $6::interval, now() - $6::interval, now() + interval '1 day')
     RETURNING id`,
    [scope, endpoint, key, randomUUID(), route, age],
  );
  const { id } = row!;
  await database.query(
    `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, finished_at, result)
     VALUES ($1, $2, 'ride_created', 1, 'local', 'finished', 1, now() - $3::interval, '{"rideId":7}')`,
    [scope, id, age],
  );
  await database.query(
    `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt,
                                     request, key_valid_until, started_at)
     VALUES ($1, $2, $3, 2, 'foreign', 'intended', 2, $4, 'stop',
             '{"amount":2500,"currency":"eur"}', now() + interval '21 hours', now() - $5::interval)`,
    [scope, id, phase, effectKey, age],
  );
  return { id, key, effectKey };
}

/** A message that is not delivered any more. */
export async function insertDeadLetter(
  database: TestDatabase,
  fields: {
    topic?: string;
    error?: string;
    payload?: unknown;
    orderingKey?: string;
    scope?: string;
    keyId?: string;
  } = {},
): Promise<string> {
  const id = randomUUID();
  await database.query(
    `INSERT INTO idempotency_outbox (id, topic, payload, ordering_key, attempts, last_error, dead_at, scope, key_id)
     VALUES ($1, $2, $3, $4, 20, $5, now() - interval '10 minutes', $6, $7)`,
    [
      id,
      fields.topic ?? 'ride.receipt',
      JSON.stringify(fields.payload ?? { rideId: 7 }),
      fields.orderingKey ?? null,
      fields.error ?? 'The mail server refused the connection.',
      fields.scope ?? '',
      fields.keyId ?? null,
    ],
  );
  return id;
}
