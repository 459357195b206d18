import { DataSource } from 'typeorm';

/** The kit's own schema. It is there while the kit runs, and dropped by the next run if that one died. */
const SCHEMA = 'idempotency_crash_kit';

/** Two kits on one database would see each other's rows, so they take turns. */
const TURN = `hashtext('${SCHEMA}')`;

/** How long to wait for the kit of another process, and for a table that is locked, at the beginning and at the end. */
const PATIENCE = 60_000;
const LOCK_PATIENCE = 5_000;
const LAST_PATIENCE = 1_000;

/** One changed row, as its trigger saw it. Rolled back means never written. */
export interface ChangedRow {
  table: string;
  op: 'INSERT' | 'UPDATE' | 'DELETE' | 'TRUNCATE';
  old: Record<string, unknown> | null;
  new: Record<string, unknown> | null;
  /** The server process of the connection, and when the statement was sent. */
  pid: number;
  sent: string;
  /** The statement as the client sent it. */
  query: string;
}

/** A table that is watched. */
export interface WatchedTable {
  name: string;
  /** Empty where there is none. */
  primaryKey: string[];
  /** Columns that hold a point in time. */
  times: string[];
}

interface FoundTable extends WatchedTable {
  quoted: string;
  oid: string;
  schema: string;
  relation: string;
}

/**
 * Notes each row that changes in the tables of a database, whoever changes it:
 * by triggers, which write into a table of the kit in the same transaction. So a
 * rollback takes the note with it, large tables cost nothing, and it does not
 * matter which connection, process or piece of SQL makes the change.
 *
 * It has a connection of its own, beside the pool of the application.
 */
export class ChangesStore {
  private constructor(
    private readonly dataSource: DataSource,
    readonly tables: readonly WatchedTable[],
  ) {}

  /**
   * @param own the library's tables, quoted: only messages added to the outbox are of interest
   * @param outbox the quoted name of the outbox's table
   */
  static async open(
    application: DataSource,
    own: readonly string[],
    outbox: string | undefined,
    ignored: (table: { schema: string; relation: string }) => boolean,
  ): Promise<ChangesStore> {
    const dataSource = new DataSource({
      ...application.options,
      entities: [],
      migrations: [],
      subscribers: [],
      synchronize: false,
      migrationsRun: false,
      dropSchema: false,
      logging: false,
      cache: false,
      extra: { max: 1 },
    } as typeof application.options);
    await dataSource.initialize();
    try {
      await takeTurn(dataSource);
      await dataSource.query(`SET lock_timeout = ${LOCK_PATIENCE}`);
      await dataSource.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
      const found = await findTables(dataSource, own);
      const watched = found.filter((table) => !ignored(table));
      await dataSource.query(install(watched, outbox));
      return new ChangesStore(dataSource, watched);
    } catch (error) {
      await dataSource.destroy();
      throw explained(error);
    }
  }

  /** All that was committed since the last time. */
  async take(): Promise<ChangedRow[]> {
    return this.dataSource.query(
      `WITH taken AS (DELETE FROM ${SCHEMA}.changes RETURNING *)
       SELECT relation AS "table", op, old, new, pid, sent::text AS sent, query
       FROM taken ORDER BY id`,
    );
  }

  /** Puts a message back as it was, as if its worker had died before it could note what became of it. */
  async putBack(outbox: string, message: Record<string, unknown>): Promise<void> {
    await this.remove(outbox, message);
    await this.dataSource.query(
      `INSERT INTO ${outbox} OVERRIDING USER VALUE
       SELECT (json_populate_record(NULL::${outbox}, $1)).*`,
      [JSON.stringify(message)],
    );
  }

  /** @returns whether it was there */
  async remove(outbox: string, { id }: Record<string, unknown>): Promise<boolean> {
    const [removed] = await this.dataSource.query<unknown[]>(
      `WITH removed AS (DELETE FROM ${outbox} WHERE id = $1 RETURNING id) SELECT id FROM removed`,
      [id],
    );
    return removed !== undefined;
  }

  async close(): Promise<void> {
    try {
      await this.dataSource.query(`SET lock_timeout = ${LAST_PATIENCE}`);
      await this.dataSource.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    } catch (error) {
      // Code that hangs in a transaction keeps its tables locked. What the kit has to say
      // about it comes first; the next run drops the schema.
      if (codeOf(error) !== LOCKED) throw error;
    } finally {
      await this.dataSource.destroy();
    }
  }
}

async function takeTurn(dataSource: DataSource): Promise<void> {
  await dataSource.query(`SET statement_timeout = 0`);
  await dataSource.query(`SET lock_timeout = ${PATIENCE}`);
  await dataSource.query(`SELECT pg_advisory_lock(${TURN})`);
}

async function findTables(dataSource: DataSource, own: readonly string[]): Promise<FoundTable[]> {
  return dataSource.query(
    `SELECT c.oid, c.oid::regclass::text AS name, n.nspname AS schema, c.relname AS relation,
            format('%I.%I', n.nspname, c.relname) AS quoted,
            array(SELECT a.attname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                  WHERE a.attrelid = c.oid AND a.attnum > 0 AND t.typcategory = 'D') AS times,
            array(SELECT a.attname::text FROM pg_index i
                  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
                  WHERE i.indrelid = c.oid AND i.indisprimary) AS "primaryKey"
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
       AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', '${SCHEMA}')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
       AND c.oid <> ALL (SELECT to_regclass(o) FROM unnest($1::text[]) o WHERE to_regclass(o) IS NOT NULL)
     ORDER BY c.oid`,
    [own],
  );
}

/** The rights of whoever installs it: the application's own role needs none on the kit's tables. */
function install(tables: readonly FoundTable[], outbox: string | undefined): string {
  const triggers = tables.map(
    ({ quoted, name }) => `
      CREATE TRIGGER ${SCHEMA}_rows AFTER INSERT OR UPDATE OR DELETE ON ${quoted}
        FOR EACH ROW EXECUTE FUNCTION ${SCHEMA}.note(${literal(name)});
      CREATE TRIGGER ${SCHEMA}_truncate AFTER TRUNCATE ON ${quoted}
        FOR EACH STATEMENT EXECUTE FUNCTION ${SCHEMA}.note_truncate(${literal(name)});`,
  );
  const messages =
    outbox === undefined
      ? ''
      : `CREATE TRIGGER ${SCHEMA}_rows AFTER INSERT ON ${outbox}
           FOR EACH ROW EXECUTE FUNCTION ${SCHEMA}.note(${literal(OUTBOX)});`;
  return `
    CREATE SCHEMA ${SCHEMA};
    CREATE UNLOGGED TABLE ${SCHEMA}.changes (
      id bigint GENERATED ALWAYS AS IDENTITY, relation text, op text, old jsonb, new jsonb,
      pid int DEFAULT pg_backend_pid(), sent timestamptz DEFAULT statement_timestamp(),
      query text DEFAULT current_query()
    );
    CREATE FUNCTION ${SCHEMA}.note() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $note$
    BEGIN
      INSERT INTO ${SCHEMA}.changes (relation, op, old, new)
      VALUES (TG_ARGV[0], TG_OP,
              CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
              CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
      RETURN NULL;
    END $note$;
    CREATE FUNCTION ${SCHEMA}.note_truncate() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $note$
    BEGIN
      INSERT INTO ${SCHEMA}.changes (relation, op) VALUES (TG_ARGV[0], TG_OP);
      RETURN NULL;
    END $note$;
    ${triggers.join('')}
    ${messages}`;
}

/** The name under which messages of the outbox are reported. */
export const OUTBOX = 'messages of the outbox';

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A lock was not to be had in time. */
const LOCKED = '55P03';

function codeOf(error: unknown): string | undefined {
  return (error as { driverError?: { code?: string } }).driverError?.code;
}

function explained(error: unknown): unknown {
  const code = codeOf(error);
  if (code === '42501') {
    return new Error(
      'The testing kit watches the tables of the application by triggers, and the role of the data source may not create them: it has to own the tables, and to be allowed to create a schema. Run the test with the role that owns the tables.',
      { cause: error },
    );
  }
  if (code === LOCKED) {
    return new Error(
      'The testing kit could not lock a table to watch it, or another run of the kit on this database did not end. Something holds a transaction open: close it before the kit runs.',
      { cause: error },
    );
  }
  return error;
}
