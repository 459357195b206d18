import { Entity } from 'typeorm';
import { IdempotencyDataKey } from './idempotency-data-key.entity.js';
import { IdempotencyJob } from './idempotency-job.entity.js';
import { IdempotencyProcess } from './idempotency-process.entity.js';
import { IdempotencyAudit } from './idempotency-audit.entity.js';
import { OutboxMessage } from './outbox-message.entity.js';
import { IdempotencyPhase } from './idempotency-phase.entity.js';
import { IdempotencyKey } from './idempotency-key.entity.js';

type EntityClass = new () => object;

/** All entities of this package, for a data source that lists its entities by hand. */
export const idempotencyEntities: EntityClass[] = [
  IdempotencyKey,
  IdempotencyPhase,
  OutboxMessage,
  IdempotencyAudit,
  IdempotencyJob,
  IdempotencyProcess,
  IdempotencyDataKey,
];

const inSchema = new Map<string, EntityClass[]>();

/**
 * The entities to load. A PostgreSQL schema is part of an entity's metadata, so
 * each schema needs its own classes; they are made once per schema.
 */
export function entitiesIn(schema: string | undefined): EntityClass[] {
  if (schema === undefined) return idempotencyEntities;
  let entities = inSchema.get(schema);
  if (!entities) {
    class IdempotencyKeyInSchema extends IdempotencyKey {}
    class IdempotencyPhaseInSchema extends IdempotencyPhase {}
    class OutboxMessageInSchema extends OutboxMessage {}
    class IdempotencyAuditInSchema extends IdempotencyAudit {}
    class IdempotencyJobInSchema extends IdempotencyJob {}
    class IdempotencyProcessInSchema extends IdempotencyProcess {}
    class IdempotencyDataKeyInSchema extends IdempotencyDataKey {}
    Entity('idempotency_keys', { schema })(IdempotencyKeyInSchema);
    Entity('idempotency_phases', { schema })(IdempotencyPhaseInSchema);
    Entity('idempotency_outbox', { schema })(OutboxMessageInSchema);
    Entity('idempotency_audit', { schema })(IdempotencyAuditInSchema);
    Entity('idempotency_jobs', { schema })(IdempotencyJobInSchema);
    Entity('idempotency_processes', { schema })(IdempotencyProcessInSchema);
    Entity('idempotency_data_keys', { schema })(IdempotencyDataKeyInSchema);
    inSchema.set(
      schema,
      (entities = [
        IdempotencyKeyInSchema,
        IdempotencyPhaseInSchema,
        OutboxMessageInSchema,
        IdempotencyAuditInSchema,
        IdempotencyJobInSchema,
        IdempotencyProcessInSchema,
        IdempotencyDataKeyInSchema,
      ]),
    );
  }
  return entities;
}
