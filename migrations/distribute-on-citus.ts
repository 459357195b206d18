import type { MigrationInterface, QueryRunner } from 'typeorm';
import { CreateIdempotencyKeys1763251200000 } from './1763251200000-create-idempotency-keys.js';
import { CreateIdempotencyPhases1763251200001 } from './1763251200001-create-idempotency-phases.js';
import { CreateIdempotencyOutbox1763251200002 } from './1763251200002-create-idempotency-outbox.js';
import { CreateIdempotencyAudit1763251200003 } from './1763251200003-create-idempotency-audit.js';
import { CreateIdempotencyDataKeys1763251200006 } from './1763251200006-create-idempotency-data-keys.js';
import { namesOf, tableName, type TableName } from './table-names.js';

/**
 * The tables that have a scope, and are distributed by it: all rows of a scope are
 * on one node. The first one is the one that the others are colocated with. The
 * tables that are not listed here have one row per job or process; they stay on
 * the coordinator.
 */
const CREATED_BY = [
  ['idempotency_keys', CreateIdempotencyKeys1763251200000],
  ['idempotency_phases', CreateIdempotencyPhases1763251200001],
  ['idempotency_outbox', CreateIdempotencyOutbox1763251200002],
  ['idempotency_audit', CreateIdempotencyAudit1763251200003],
  ['idempotency_data_keys', CreateIdempotencyDataKeys1763251200006],
] as const satisfies readonly (readonly [TableName, new (schema?: string) => MigrationInterface])[];

export const DISTRIBUTED_TABLES = CREATED_BY.map(([table]) => table);

export interface CitusOptions {
  /** The PostgreSQL schema of the key tables, as for `idempotencyMigrationsIn()`. */
  schema?: string;
  /**
   * A distributed table of yours whose rows are found by the same scope, such as
   * `'accounts'` or `'sales.accounts'`: a local phase that writes to it then stays on one node. Its
   * distribution column has to be of type text, like the scope.
   * @default tables of type text with the same number of shards, if there are any
   */
  colocateWith?: string;
  /**
   * The 13 digits at the end of the migration's name: TypeORM runs migrations in the order of these
   * digits. Set it if the step has to run after the one that distributes `colocateWith`.
   * @default right after the steps that create the tables
   */
  timestamp?: number;
}

/** After the last step that creates a table. */
const TIMESTAMP = 1763251299999;

/**
 * The step that distributes the tables over the nodes of a Citus cluster, by
 * scope: `migrations: [...idempotencyMigrations, distributeOnCitus(), ...yours]`.
 * Rows that are there already are moved.
 */
export function distributeOnCitus(options: CitusOptions = {}): new () => MigrationInterface {
  const { schema, colocateWith, timestamp = TIMESTAMP } = options;
  if (!/^\d{13}$/.test(String(timestamp))) {
    throw new Error(
      `distributeOnCitus(): timestamp is ${timestamp}. Use the 13 digits of a date in milliseconds, such as those at the end of the names of your own migrations.`,
    );
  }
  return class DistributeIdempotencyTables implements MigrationInterface {
    readonly name = `DistributeIdempotencyTables${timestamp}`;

    async up(queryRunner: QueryRunner): Promise<void> {
      await requireCitus(queryRunner);
      if (colocateWith !== undefined) await requireDistributedByText(queryRunner, colocateWith);
      const keys = 'idempotency_keys';
      const names = namesOf(queryRunner, keys, schema);
      const table = tableName(queryRunner, keys, schema);
      // A unique constraint has to contain the distribution column. The sequence behind the id
      // gives no number twice.
      await queryRunner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${names.unique('id')}`);
      await queryRunner.query(`CREATE INDEX ${names.index(['id'])} ON ${table} ("id")`);
      for (const each of DISTRIBUTED_TABLES) {
        const name = tableName(queryRunner, each, schema);
        const beside = each === keys ? (colocateWith ?? 'default') : table;
        await queryRunner.query(
          `SELECT create_distributed_table($1, 'scope', colocate_with => $2)`,
          [name, beside],
        );
      }
      // The rows have been copied to the shards; what is left here would never be read again.
      for (const each of DISTRIBUTED_TABLES) {
        await queryRunner.query(`SELECT truncate_local_data_after_distributing_table($1)`, [
          tableName(queryRunner, each, schema),
        ]);
      }
    }

    async down(queryRunner: QueryRunner): Promise<void> {
      const tables = DISTRIBUTED_TABLES.map((each) => tableName(queryRunner, each, schema));
      // What was written after the rows have been read would be lost.
      await queryRunner.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
      for (const [each, step] of CREATED_BY) {
        await bringBack(queryRunner, tableName(queryRunner, each, schema), new step(schema));
      }
    }
  };
}

/**
 * Creates a table again on the coordinator, with its rows: Citus cannot bring a table with an
 * identity column back by itself. Numbers that were given out are not given out again.
 */
async function bringBack(
  queryRunner: QueryRunner,
  table: string,
  step: MigrationInterface,
): Promise<void> {
  const numbers = await numbersOf(queryRunner, table);
  await queryRunner.query(`CREATE TEMPORARY TABLE idempotency_moved AS SELECT * FROM ${table}`);
  await queryRunner.query(`DROP TABLE ${table}`);
  await step.up(queryRunner);
  await queryRunner.query(
    `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM idempotency_moved`,
  );
  await queryRunner.query('DROP TABLE idempotency_moved');
  for (const { column, next } of numbers) {
    await queryRunner.query(`SELECT setval(pg_get_serial_sequence($1, $2), $3, false)`, [
      table,
      column,
      next,
    ]);
  }
}

/** The columns that draw their values from a sequence, and the next one of each. */
async function numbersOf(
  queryRunner: QueryRunner,
  table: string,
): Promise<{ column: string; next: string }[]> {
  return queryRunner.query(
    `SELECT a.attname AS column, nextval(s.name) AS next
     FROM pg_attribute a, pg_get_serial_sequence($1, a.attname) s (name)
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND s.name IS NOT NULL`,
    [table],
  ) as Promise<{ column: string; next: string }[]>;
}

async function requireCitus(queryRunner: QueryRunner): Promise<void> {
  const [row] = (await queryRunner.query(
    `SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS citus`,
  )) as { citus: boolean }[];
  if (row?.citus) return;
  throw new Error(
    'distributeOnCitus(): this database has no Citus, so there are no nodes to distribute the tables over. Run CREATE EXTENSION citus on every node and add the nodes with citus_add_node(), or leave this migration out.',
  );
}

async function requireDistributedByText(queryRunner: QueryRunner, table: string): Promise<void> {
  const [row] = (await queryRunner.query(
    `SELECT format_type(a.atttypid, NULL) AS type
     FROM pg_dist_partition p
     JOIN pg_attribute a ON a.attrelid = p.logicalrelid
       AND a.attname = column_to_column_name(p.logicalrelid, p.partkey)
     WHERE p.logicalrelid = to_regclass($1) AND p.partmethod = 'h'`,
    [table],
  )) as { type: string }[];
  if (!row) {
    throw new Error(
      `distributeOnCitus(): colocateWith is '${table}', which is no distributed table. Distribute it in a migration that runs before this one (option timestamp), or leave colocateWith out.`,
    );
  }
  if (row.type !== 'text') {
    throw new Error(
      `distributeOnCitus(): colocateWith is '${table}', whose distribution column is of type ${row.type}. The scope is of type text, and Citus puts tables beside each other only if the types are the same. Distribute the table by a column of type text with the scope in it, or leave colocateWith out.`,
    );
  }
}
