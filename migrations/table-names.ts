import type { QueryRunner } from 'typeorm';

/** Our tables, and the names of their entities, which a naming strategy may ask for. */
const ENTITIES = {
  idempotency_keys: 'IdempotencyKey',
  idempotency_phases: 'IdempotencyPhase',
  idempotency_outbox: 'OutboxMessage',
  idempotency_audit: 'IdempotencyAudit',
  idempotency_jobs: 'IdempotencyJob',
  idempotency_processes: 'IdempotencyProcess',
  idempotency_data_keys: 'IdempotencyDataKey',
} as const;

export type TableName = keyof typeof ENTITIES;

/**
 * The qualified, quoted name of one of our tables. Without a schema of its own
 * it lives where the data source's entities live; without that, where the
 * connection's search_path says.
 */
export function tableName(queryRunner: QueryRunner, table: TableName, schema?: string): string {
  return plainTable(plainName(queryRunner, table, schema), schema ?? dataSourceSchema(queryRunner));
}

export function plainTable(name: string, schema: string | undefined): string {
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`;
}

/** The qualified, quoted name of a type for one column of our tables. */
export function typeName(
  queryRunner: QueryRunner,
  table: TableName,
  column: string,
  schema?: string,
): string {
  const name = `${plainName(queryRunner, table, schema)}_${column}`;
  return plainTable(name, schema ?? dataSourceSchema(queryRunner));
}

/**
 * The names that TypeORM gives to what belongs to a table. They contain the
 * table's name, because indexes share one space of names: tables with another
 * `entityPrefix` have to find room beside these.
 */
export function namesOf(queryRunner: QueryRunner, table: TableName, schema?: string) {
  const name = plainName(queryRunner, table, schema);
  const { namingStrategy } = queryRunner.connection;
  return {
    primaryKey: (...columns: string[]) => quote(namingStrategy.primaryKeyName(name, columns)),
    unique: (...columns: string[]) => quote(namingStrategy.uniqueConstraintName(name, columns)),
    index: (columns: string[], where?: string) =>
      quote(namingStrategy.indexName(name, columns, where)),
  };
}

/** The qualified, quoted name of one of our tables. */
export type TableNamer = (table: TableName) => string;

export function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** As TypeORM names the table of the entity: by its naming strategy, then with its prefix. */
function plainName(queryRunner: QueryRunner, table: TableName, schema?: string): string {
  const { namingStrategy, options } = queryRunner.connection;
  // Tables in their own schema have their own entities: see lib/schema/entities.ts.
  const entity = schema === undefined ? ENTITIES[table] : `${ENTITIES[table]}InSchema`;
  const name = namingStrategy.tableName(entity, table);
  const { entityPrefix } = options;
  return entityPrefix ? namingStrategy.prefixTableName(entityPrefix, name) : name;
}

function dataSourceSchema(queryRunner: QueryRunner): string | undefined {
  // `connection` is the name that TypeORM 0.3 and 1.x have in common.
  const { schema } = queryRunner.connection.options as { schema?: string };
  return schema;
}

/** What a migration brings, so that a boot check can tell which one has not been run. */
export interface SchemaStep {
  table: TableName;
  columns: readonly string[];
}
