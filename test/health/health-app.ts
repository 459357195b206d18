import { randomUUID } from 'node:crypto';
import { Controller, Get, Query } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import {
  IdempotencyHealthIndicator,
  type DegradedAs,
  type HealthOptions,
} from 'nestjs-atomic-idempotency';
import type { TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import type { IdempotentAppOptions } from '../support/idempotent-app.js';
import type { TestApp } from '../support/platforms.js';

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly idempotency: IdempotencyHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check(@Query('degradedAs') degradedAs: DegradedAs = 'up') {
    return this.health.check([
      () => this.idempotency.check('idempotency', { degradedAs, maxAge: 0 }),
    ]);
  }
}

/** An application with a health check of terminus. */
export const withHealth: IdempotentAppOptions = {
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  logger: false,
};

/** What the endpoint answers. */
export async function probe({ url }: TestApp, degradedAs?: DegradedAs) {
  const query = degradedAs === undefined ? '' : `?degradedAs=${degradedAs}`;
  const { status, json } = await send(`${url}/health${query}`, { method: 'GET' });
  return { status, body: json() };
}

/** What the indicator says now, without an endpoint. */
export async function check({ app }: TestApp, options: HealthOptions = {}) {
  const indicator = app.get(IdempotencyHealthIndicator, { strict: false });
  return (await indicator.check('idempotency', { maxAge: 0, ...options })).idempotency;
}

interface MadeKey {
  status?: string;
  /** In PostgreSQL's words: `'infinity'`, `'now'`. */
  reconcileAfter?: string;
  /** In PostgreSQL's words: `'2 hours'`. */
  expiredFor?: string;
}

export async function insertKey(
  database: TestDatabase,
  { status = 'completed', reconcileAfter, expiredFor = '-1 day' }: MadeKey,
): Promise<void> {
  await database.query(
    `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, reconcile_after, expires_at)
     VALUES ('', $1, '', gen_random_uuid(), $2, now(), $3, now() - $4::interval)`,
    [randomUUID(), status, reconcileAfter ?? null, expiredFor],
  );
}

/** @param due how long it has been due, in PostgreSQL's words */
export async function insertMessage(
  database: TestDatabase,
  due: string,
  dead = false,
): Promise<void> {
  await database.query(
    `INSERT INTO idempotency_outbox (id, topic, available_at, dead_at)
     VALUES ($1, 'mail', now() - $2::interval, CASE WHEN $3 THEN now() END)`,
    [randomUUID(), due, dead],
  );
}
