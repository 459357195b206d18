import { IdempotencyOperator } from 'nestjs-atomic-idempotency';
import type { TestDatabase } from './database.js';
import type { TestApp } from './platforms.js';

export function operatorOf({ app }: TestApp): IdempotencyOperator {
  return app.get(IdempotencyOperator, { strict: false });
}

/** What was decided about a key, oldest first. */
export function auditOf(database: TestDatabase, key: string): Promise<Record<string, any>[]> {
  return database.query('SELECT * FROM idempotency_audit WHERE key = $1 ORDER BY id', [key]);
}
