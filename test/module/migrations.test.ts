import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  idempotencyMigrations,
  idempotencyMigrationsIn,
} from 'nestjs-atomic-idempotency/migrations';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { KEY_STATUSES } from '../../lib/schema/key-status.js';
import { schemaSteps } from '../../migrations/index.js';
import { textsOf } from '../docs/declared.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const PHASES = 'lib/schema/phase-record.ts';

/** A row in which this column has this word. */
const INSERTS: Record<string, (column: string, word: string) => string> = {
  idempotency_keys: (column, word) =>
    `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, ${column})
     VALUES ('', '${word}', '', gen_random_uuid(), now(), '${word}')`,
  idempotency_phases: (column, word) => {
    const words = { kind: 'local', state: 'finished', [column]: word };
    return `INSERT INTO idempotency_phases (scope, key_id, name, position, attempt, kind, state)
     VALUES ('', 1, '${word}', 1, 1, '${words.kind}', '${words.state}')`;
  },
};

const TABLES = [...new Set(schemaSteps.map(({ table }) => table))].sort();

describe('The migrations', () => {
  let database: TestDatabase;
  let dataSource: DataSource | undefined;
  beforeEach(async () => {
    database = await createTestDatabase({ migrated: false });
  });
  afterEach(async () => {
    await dataSource?.destroy();
    await database.drop();
  });

  async function connect(options: Partial<DataSourceOptions>): Promise<DataSource> {
    const settings = { ...database.dataSourceOptions, ...options } as DataSourceOptions;
    return (dataSource = await new DataSource(settings).initialize());
  }

  async function tablesIn(schema: string): Promise<string[]> {
    const rows = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables
       WHERE table_schema = $1 AND table_name = ANY($2) ORDER BY 1`,
      [schema, TABLES],
    );
    return rows.map(({ name }) => name);
  }

  it.each<[string, string, Partial<DataSourceOptions>, string[]]>([
    ['in the default schema', 'public', { migrations: idempotencyMigrations }, []],
    [
      'in a schema of their own, which they make',
      'keys of the shop',
      { migrations: idempotencyMigrationsIn('keys of the shop') },
      [],
    ],
    [
      "in the data source's schema",
      'shop',
      { schema: 'shop', migrations: idempotencyMigrations } as Partial<DataSourceOptions>,
      ['CREATE SCHEMA shop'],
    ],
    [
      "in a schema of their own beside the data source's",
      'keys',
      { schema: 'shop', migrations: idempotencyMigrationsIn('keys') } as Partial<DataSourceOptions>,
      ['CREATE SCHEMA shop'],
    ],
  ])('go up, down and up again %s', async (_, schema, options, preparations) => {
    for (const statement of preparations) await database.query(statement);
    const { migrations } = options as { migrations: unknown[] };
    const migrated = await connect(options);

    expect(await migrated.runMigrations()).toHaveLength(migrations.length);
    expect(await tablesIn(schema)).toEqual(TABLES);
    for (const _step of migrations) await migrated.undoLastMigration();
    expect(await tablesIn(schema)).toEqual([]);
    await migrated.runMigrations();
    expect(await tablesIn(schema)).toEqual(TABLES);
    expect(await migrated.runMigrations()).toEqual([]);
  });

  it('are recorded under the same names in every schema', async () => {
    const plain = await connect({ migrations: idempotencyMigrations });
    const names = (await plain.runMigrations()).map(({ name }) => name);
    await plain.destroy();
    await database.query('DROP TABLE migrations');
    const own = await connect({ migrations: idempotencyMigrationsIn('keys') });
    expect((await own.runMigrations()).map(({ name }) => name)).toEqual(names);
  });

  it.each<[string, string, string, readonly string[]]>([
    ['the status of a key', 'idempotency_keys', 'status', KEY_STATUSES],
    ['the kind of a phase', 'idempotency_phases', 'kind', textsOf(PHASES, 'PhaseKind')],
    ['the state of a phase', 'idempotency_phases', 'state', textsOf(PHASES, 'PhaseState')],
  ])('allow the words that there are for %s, and no other', async (_, table, column, words) => {
    await (await connect({ migrations: idempotencyMigrations })).runMigrations();
    const write = (word: string) => database.query(INSERTS[table]!(column, word));

    for (const word of words) await write(word);
    await expect(write('finnished')).rejects.toMatchObject({ code: '23514' });
    await expect(
      database.query(`UPDATE ${table} SET ${column} = upper(${column})`),
    ).rejects.toMatchObject({ code: '23514' });
    const rows = await database.query(`SELECT ${column} FROM ${table}`);
    expect(rows.map((row) => row[column])).toEqual(words);
  });

  it('create logged tables, which survive a crash of the database server', async () => {
    const migrated = await connect({ migrations: idempotencyMigrations });
    await migrated.runMigrations();
    const rows = await database.query(
      `SELECT relname, relpersistence FROM pg_class WHERE relname = ANY($1) ORDER BY 1`,
      [TABLES],
    );
    expect(rows).toEqual(TABLES.map((relname) => ({ relname, relpersistence: 'p' })));
  });
});
