import type { QueryRunner } from 'typeorm';

/**
 * The qualified, quoted name of one of our tables. Without a schema of its own
 * it lives where the data source's entities live; without that, where the
 * connection's search_path says.
 */
export function tableName(queryRunner: QueryRunner, table: string, schema?: string): string {
  const home = schema ?? dataSourceSchema(queryRunner);
  return home === undefined ? quote(table) : `${quote(home)}.${quote(table)}`;
}

export function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

function dataSourceSchema(queryRunner: QueryRunner): string | undefined {
  // `connection` is the name that TypeORM 0.3 and 1.x have in common.
  const { schema } = queryRunner.connection.options as { schema?: string };
  return schema;
}

/** What a migration brings, so that a boot check can tell which one has not been run. */
export interface SchemaStep {
  table: string;
  columns: readonly string[];
}
