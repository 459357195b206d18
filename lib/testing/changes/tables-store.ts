import type { DataSource } from 'typeorm';

/** A row as JSON, with the names of its columns. */
export type Row = Record<string, unknown>;

/** The rows of a table at one moment. */
export interface TableRows {
  /** With its schema, where that is not on the search path. */
  table: string;
  /** Empty where the table has no primary key. */
  primaryKey: string[];
  rows: Row[];
}

interface Table {
  table: string;
  primaryKey: string[];
}

/** More rows than a test has use for; comparing them all would take long. */
const MOST_ROWS = 20_000;

/** Reads the application's own tables: all that the data source's user sees, but for those of the library. */
export class TablesStore {
  /** @param except tables that are left out, by their names without a schema */
  constructor(
    private readonly dataSource: DataSource,
    private readonly except: readonly string[],
  ) {}

  async read(): Promise<TableRows[]> {
    const tables = await this.tables();
    if (tables.length === 0) return [];
    const rows = await this.query<{ at: number; row: Row }>(
      `${tables.map(({ table }, at) => `SELECT ${at} AS at, to_jsonb(t) AS row FROM ${table} t`).join(' UNION ALL ')}
       LIMIT ${MOST_ROWS + 1}`,
    );
    if (rows.length > MOST_ROWS) {
      throw new Error(
        `The tables have more than ${MOST_ROWS} rows, which takes too long to compare. Use a database with the data of this test alone, or name large tables in ignore.`,
      );
    }
    return tables.map((table, index) => ({
      ...table,
      rows: rows.filter(({ at }) => at === index).map(({ row }) => row),
    }));
  }

  private tables(): Promise<Table[]> {
    return this.query(
      `SELECT c.oid::regclass::text AS "table",
              ARRAY(
                SELECT a.attname::text FROM pg_index i
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                WHERE i.indrelid = c.oid AND i.indisprimary
              ) AS "primaryKey"
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
         AND NOT c.relname = ANY ($1) AND has_table_privilege(c.oid, 'SELECT')
       ORDER BY 1`,
      [this.except],
    );
  }

  private query<T>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    return this.dataSource.query(sql, parameters) as Promise<T[]>;
  }
}
