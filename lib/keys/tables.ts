import { Entity } from 'typeorm';
import { belongsToKey, IdempotencyPhase } from '../phases/idempotency-phase.entity.js';
import { IdempotencyKey } from './idempotency-key.entity.js';

type EntityClass = new () => object;

const inSchema = new Map<string, EntityClass[]>();

/**
 * The entities to load. A schema of their own is part of an entity's metadata,
 * so it needs classes of its own; they are made once per schema.
 */
export function entitiesIn(schema: string | undefined): EntityClass[] {
  if (schema === undefined) return [IdempotencyKey, IdempotencyPhase];
  let entities = inSchema.get(schema);
  if (!entities) {
    class IdempotencyKeyInSchema extends IdempotencyKey {}
    class IdempotencyPhaseInSchema extends IdempotencyPhase {}
    Entity('idempotency_keys', { schema })(IdempotencyKeyInSchema);
    Entity('idempotency_phases', { schema })(IdempotencyPhaseInSchema);
    belongsToKey(() => IdempotencyKeyInSchema)(
      IdempotencyPhaseInSchema.prototype,
      'idempotencyKey',
    );
    inSchema.set(schema, (entities = [IdempotencyKeyInSchema, IdempotencyPhaseInSchema]));
  }
  return entities;
}
