/**
 * The migrations of the tables.
 *
 * @module nestjs-atomic-idempotency/migrations
 */
import type { MigrationInterface } from 'typeorm';
import { CreateIdempotencyKeys1763251200000 } from './1763251200000-create-idempotency-keys.js';
import { CreateIdempotencyPhases1763251200001 } from './1763251200001-create-idempotency-phases.js';
import { CreateIdempotencyOutbox1763251200002 } from './1763251200002-create-idempotency-outbox.js';
import { CreateIdempotencyAudit1763251200003 } from './1763251200003-create-idempotency-audit.js';
import { CreateIdempotencyJobs1763251200004 } from './1763251200004-create-idempotency-jobs.js';
import { CreateIdempotencyProcesses1763251200005 } from './1763251200005-create-idempotency-processes.js';
import { CreateIdempotencyDataKeys1763251200006 } from './1763251200006-create-idempotency-data-keys.js';
import type { SchemaStep } from './table-names.js';

export { distributeOnCitus, type CitusOptions } from './distribute-on-citus.js';
export { idempotencyGrants, type IdempotencyGrants } from './grants.js';

type Step = (new (schema?: string) => MigrationInterface) & { adds: SchemaStep };

/** Every step, oldest first. A step that was released is never edited; the next one is added. */
const steps: Step[] = [
  CreateIdempotencyKeys1763251200000,
  CreateIdempotencyPhases1763251200001,
  CreateIdempotencyOutbox1763251200002,
  CreateIdempotencyAudit1763251200003,
  CreateIdempotencyJobs1763251200004,
  CreateIdempotencyProcesses1763251200005,
  CreateIdempotencyDataKeys1763251200006,
];

/**
 * The migrations of the key tables, to spread into your data source:
 * `migrations: [...idempotencyMigrations, ...yours]`.
 */
export const idempotencyMigrations: (new () => MigrationInterface)[] = [...steps];

/** The same migrations for tables in a PostgreSQL schema of their own (`forRoot({ schema })`). */
export function idempotencyMigrationsIn(schema: string): (new () => MigrationInterface)[] {
  return steps.map((step) => {
    class InSchema extends step {
      constructor() {
        super(schema);
      }
    }
    return InSchema;
  });
}

/** What each step brings, in order: the boot check compares the database with it. */
export const schemaSteps = steps.map((step) => ({ migration: step.name, ...step.adds }));
