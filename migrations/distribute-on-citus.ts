import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type TableName } from './table-names.js';

/**
 * The tables that have a scope, and are distributed by it: all rows of a scope are
 * on one node. The first one is the one that the others are colocated with. The
 * tables that are not listed here have one row per job or process; they stay on
 * the coordinator.
 */
export const DISTRIBUTED_TABLES = [
  'idempotency_keys',
  'idempotency_phases',
  'idempotency_outbox',
  'idempotency_audit',
  'idempotency_data_keys',
] as const satisfies readonly TableName[];

export interface CitusOptions {
  /** The PostgreSQL schema of the key tables, as for `idempotencyMigrationsIn()`. */
  schema?: string;
  /**
   * A distributed table of yours whose rows are found by the same scope, such as
   * `'accounts'` or `'sales.accounts'`: a local phase that writes to it then stays on one node. Its
   * distribution column has to be `text COLLATE "C"`, like the scope.
   * @default tables with such a column and the same number of shards, if there are any
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
      if (colocateWith !== undefined) await requireLikeScope(queryRunner, colocateWith);
      const [keys] = DISTRIBUTED_TABLES;
      const names = namesOf(queryRunner, keys, schema);
      const table = tableName(queryRunner, keys, schema);
      // A unique constraint has to contain the distribution column. The sequence behind the id
      // gives no number twice.
      await queryRunner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${names.unique('id')}`);
      await queryRunner.query(`CREATE INDEX ${names.index(['id'])} ON ${table} ("id")`);
      for (const each of DISTRIBUTED_TABLES) {
        const name = tableName(queryRunner, each, schema);
        const beside = each === keys ? (colocateWith ?? (await likeScope(queryRunner))) : table;
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
      for (const each of DISTRIBUTED_TABLES.toReversed()) {
        await bringBack(queryRunner, tableName(queryRunner, each, schema));
      }
      const [keys] = DISTRIBUTED_TABLES;
      const names = namesOf(queryRunner, keys, schema);
      const table = tableName(queryRunner, keys, schema);
      await queryRunner.query(`DROP INDEX IF EXISTS ${indexOf(table, names.index(['id']))}`);
      await queryRunner.query(
        `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${names.unique('id')},
           ADD CONSTRAINT ${names.unique('id')} UNIQUE ("id")`,
      );
    }
  };
}

/**
 * Moves the rows of a table back to the coordinator, unless they are there: where
 * only some tables are distributed, this step and the next run of the first one repair that.
 *
 * Citus moves no table with an identity column, so the column gets a new sequence afterwards. The
 * old one is removed on the coordinator alone; on the workers it goes with the table.
 */
async function bringBack(queryRunner: QueryRunner, table: string): Promise<void> {
  const [found] = (await queryRunner.query(
    `SELECT (SELECT nextval(pg_get_serial_sequence($1, attname)) FROM pg_attribute
             WHERE attrelid = logicalrelid AND attidentity = 'a') AS next
     FROM pg_dist_partition WHERE logicalrelid = to_regclass($1)`,
    [table],
  )) as { next: string | null }[];
  if (!found) return;
  if (found.next !== null) {
    await queryRunner.query(`SET LOCAL citus.enable_ddl_propagation = off`);
    await queryRunner.query(`ALTER TABLE ${table} ALTER COLUMN "id" DROP IDENTITY`);
    await queryRunner.query(`SET LOCAL citus.enable_ddl_propagation = on`);
  }
  await queryRunner.query(`SELECT undistribute_table($1)`, [table]);
  if (found.next !== null) {
    await queryRunner.query(
      `ALTER TABLE ${table} ALTER COLUMN "id"
         ADD GENERATED ALWAYS AS IDENTITY (START WITH ${found.next})`,
    );
  }
}

/** An index is in the schema of its table. */
function indexOf(table: string, index: string): string {
  const home = /^("(?:[^"]|"")*")\./.exec(table)?.[1];
  return home === undefined ? index : `${home}.${index}`;
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

/** The distribution columns of tables, as `a`. */
const DISTRIBUTION_COLUMNS = `pg_dist_partition p
  JOIN pg_attribute a ON a.attrelid = p.logicalrelid
    AND a.attname = column_to_column_name(p.logicalrelid, p.partkey)
  LEFT JOIN pg_collation c ON c.oid = a.attcollation`;

/**
 * What the tables are put beside if nobody says it. Not `'default'`: Citus looks for tables
 * of the same type, whatever their collation, and then refuses those with another collation.
 */
async function likeScope(queryRunner: QueryRunner): Promise<string> {
  const [row] = (await queryRunner.query(
    `SELECT p.logicalrelid::regclass::text AS name
     FROM ${DISTRIBUTION_COLUMNS} JOIN pg_dist_colocation g USING (colocationid)
     WHERE p.partmethod = 'h' AND a.atttypid = 'text'::regtype AND c.collname = 'C'
       AND g.shardcount = current_setting('citus.shard_count')::int
     ORDER BY p.colocationid LIMIT 1`,
  )) as { name: string }[];
  return row?.name ?? 'none';
}

async function requireLikeScope(queryRunner: QueryRunner, table: string): Promise<void> {
  const [row] = (await queryRunner.query(
    `SELECT format_type(a.atttypid, NULL) AS type, quote_ident(a.attname) AS column,
            c.collname AS collation
     FROM ${DISTRIBUTION_COLUMNS}
     WHERE p.logicalrelid = to_regclass($1) AND p.partmethod = 'h'`,
    [table],
  )) as { type: string; column: string; collation: string | null }[];
  if (!row) {
    throw new Error(
      `distributeOnCitus(): colocateWith is '${table}', which is no distributed table. Distribute it in a migration that runs before this one (option timestamp), or leave colocateWith out.`,
    );
  }
  if (row.type !== 'text') {
    throw new Error(
      `distributeOnCitus(): colocateWith is '${table}', whose distribution column is of type ${row.type}. The scope is of type text, and Citus puts tables beside each other only if the types are the same. Distribute the table by a column of type text COLLATE "C" with the scope in it, or leave colocateWith out.`,
    );
  }
  if (row.collation !== 'C') {
    throw new Error(
      `distributeOnCitus(): colocateWith is '${table}', whose distribution column ${row.column} has the collation "${row.collation}". The scope has "C", and Citus puts tables beside each other only if the collations are the same. Give the column COLLATE "C" before the table is distributed (SELECT undistribute_table() brings it back for that), or leave colocateWith out.`,
    );
  }
}
