import type { Database } from './database.js';

/** Where the rows of a table are, on a Citus cluster. */
export interface TablePlace {
  /** Qualified and quoted. */
  table: string;
  /** The column that says which node has a row; null: all rows are on the coordinator. */
  column: string | null;
  /** Tables with the same number have the rows with equal values of the column on the same node. */
  colocation: number | null;
}

/** Whether the server has Citus at all. */
export async function hasCitus(database: Database): Promise<boolean> {
  const [row] = await database.query<{ citus: boolean }>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS citus`,
    [],
  );
  return row!.citus;
}

/** A connection to a node of a cluster. */
export interface NodeSession {
  /** Not a worker. */
  coordinator: boolean;
  datestyle: string;
}

export async function nodeSession(database: Database): Promise<NodeSession> {
  const [row] = await database.query<NodeSession>(
    `SELECT groupid = 0 AS coordinator, current_setting('datestyle') AS datestyle
     FROM pg_dist_local_group`,
    [],
  );
  return row!;
}

/** The places of those tables that exist, in the order of their names here. */
export function placesOf(database: Database, tables: readonly string[]): Promise<TablePlace[]> {
  return database.query<TablePlace>(
    `SELECT t.name AS "table",
            -- Without a column: a reference table, which every node has, or one on a single node.
            CASE WHEN d.partmethod = 'h' THEN column_to_column_name(d.logicalrelid, d.partkey) END AS "column",
            CASE WHEN d.partmethod = 'h' THEN d.colocationid END AS "colocation"
     FROM unnest($1::text[]) WITH ORDINALITY AS t (name, position)
     LEFT JOIN pg_dist_partition d ON d.logicalrelid = to_regclass(t.name)
     WHERE to_regclass(t.name) IS NOT NULL
     ORDER BY t.position`,
    [tables],
  );
}
