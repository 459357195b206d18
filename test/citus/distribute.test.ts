import { Controller, Injectable, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyModule,
  Outbox,
  OutboxHandler,
} from 'nestjs-atomic-idempotency';
import {
  distributeOnCitus,
  idempotencyGrants,
  idempotencyMigrations,
  idempotencyMigrationsIn,
  type CitusOptions,
} from 'nestjs-atomic-idempotency/migrations';
import type { Request } from 'express';
import { DataSource, type MigrationInterface } from 'typeorm';
import { DISTRIBUTED_TABLES } from '../../migrations/distribute-on-citus.js';
import { Database } from '../../lib/postgres/database.js';
import { joinNodes } from '../support/citus-nodes.mjs';
import { SERVERS } from '../support/cluster.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send, type Received } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { describeOnCitus } from './on-citus.js';

/** After that of a user's own step, which distributes a table of theirs. */
const TIMESTAMP = 1763251400000;

const delivered: unknown[] = [];

@Controller()
class AccountsController {
  constructor(
    private readonly phases: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Post('accounts')
  @Idempotent({ phased: true })
  async create(): Promise<string> {
    const { scope } = this.phases.current!;
    await this.phases.local('opened', async (tx) => {
      await tx.query('INSERT INTO accounts (id) VALUES ($1) ON CONFLICT DO NOTHING', [scope]);
      await this.outbox.add(tx, 'opened', { scope });
    });
    return `the account of ${scope}`;
  }
}

@Injectable()
class Opened {
  @OutboxHandler('opened')
  deliver({ payload }: { payload: unknown }): void {
    delivered.push(payload);
  }
}

describeOnCitus('The step that distributes the tables', () => {
  onEachPlatform(tests, ['express']);
});

function tests(platform: Platform): void {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    await joinNodes(
      SERVERS.map((server) => Object.assign(new URL(server), { pathname: database.name }).href),
    );
    await database.query('CREATE TABLE accounts (id text COLLATE "C" PRIMARY KEY)');
    await database.query(
      `SELECT create_distributed_table('accounts', 'id', shard_count => 6, colocate_with => 'none')`,
    );
  });
  afterAll(() => database?.drop());

  const run = (dataSource: DataSource): Promise<unknown> => dataSource.runMigrations();
  const undo = (dataSource: DataSource): Promise<unknown> => dataSource.undoLastMigration();

  /** Runs or takes back migrations, as the command line of TypeORM does. */
  async function migrate(
    migrations: (new () => MigrationInterface)[],
    work = run,
    migrationsTableName = 'migrations',
  ): Promise<void> {
    const { url } = database;
    const dataSource = new DataSource({ type: 'postgres', url, migrations, migrationsTableName });
    await dataSource.initialize();
    try {
      await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  }

  const distribute = (options: CitusOptions) => [
    ...idempotencyMigrations,
    distributeOnCitus({ timestamp: TIMESTAMP, ...options }),
  ];

  async function withApp<T>(
    work: (app: IdempotentApp) => Promise<T>,
    idempotency: Partial<Parameters<typeof IdempotencyModule.forRoot>[0]> = {},
    dataSource: Record<string, unknown> = {},
  ): Promise<T> {
    const app = await startIdempotentApp(platform, {
      database,
      dataSource,
      idempotency: {
        scope: (request: Request) => request.get('x-account'),
        encryption: { keys: [{ id: 'first', secret: 'the-master-key-of-these-tests-0123456789' }] },
        ...idempotency,
      },
      controllers: [AccountsController],
      providers: [Opened],
    });
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  }

  const open = (app: IdempotentApp, key: string, account: string): Promise<Received> =>
    send(`${app.url}/accounts`, { key, headers: { 'x-account': account } });

  const ACCOUNTS = ['ada', 'bob', 'cy', 'di'];

  async function counts(): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const table of DISTRIBUTED_TABLES) {
      const [row] = await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
      found[table] = row!.n;
    }
    return found;
  }

  /** What Citus knows of our tables, beside those of the user. */
  const placed = (schema: string) =>
    database.query<{ name: string; beside: boolean }>(
      `SELECT c.relname AS name, p.colocationid = (
                SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'accounts'::regclass
              ) AS beside
       FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
       WHERE c.relnamespace = $1::regnamespace AND starts_with(c.relname, 'idempotency_')
         AND p.partmethod = 'h'
       ORDER BY name`,
      [schema],
    );
  const ALL_BESIDE = DISTRIBUTED_TABLES.toSorted().map((name) => ({ name, beside: true }));

  it('moves what is there, beside a table of the user, and back', async () => {
    await migrate(idempotencyMigrations);
    await withApp(async (app) => {
      for (const account of ACCOUNTS) expect((await open(app, 'first', account)).status).toBe(201);
      const [row] = await database.query(
        `SELECT id FROM idempotency_keys WHERE scope = 'ada' AND key = 'first'`,
      );
      await operatorOf(app).hold(row!.id, 'legal');
    });
    const before = await counts();
    expect(before).toEqual({
      idempotency_keys: 4,
      idempotency_phases: 4,
      idempotency_outbox: 4,
      idempotency_audit: 1,
      idempotency_data_keys: 4,
    });

    await migrate(distribute({ colocateWith: 'accounts' }));
    expect(await placed('public')).toEqual(ALL_BESIDE);
    expect(await counts()).toEqual(before);
    const [left] = await database.query(
      `SELECT sum(pg_relation_size(name::regclass))::int AS bytes FROM unnest($1::text[]) name`,
      [[...DISTRIBUTED_TABLES]],
    );
    expect(left).toEqual({ bytes: 0 });

    await withApp(async (app) => {
      const prepared = 'SELECT FROM pg_dist_transaction';
      const { length } = await database.query(prepared);
      for (const account of ACCOUNTS) {
        const again = await open(app, 'first', account);
        expect(again.text).toBe(`the account of ${account}`);
        expect(again.headers.get('idempotent-replayed')).toBe('true');
        expect((await open(app, 'second', account)).status).toBe(201);
      }
      // Each request has committed on one node, with the row of the user's.
      expect(await database.query(prepared)).toHaveLength(length);
      await runJob(app, 'outbox');
      expect(delivered).toHaveLength(8);
      const { id } = await keyRow(database, 'second');
      expect(Number(id)).toBeGreaterThan(4);
    });

    await migrate(distribute({}), undo);
    expect(await placed('public')).toEqual([]);
    expect(await counts()).toMatchObject({ idempotency_keys: 8, idempotency_audit: 1 });
    await withApp(async (app) => {
      for (const key of ['first', 'second']) {
        expect((await open(app, key, 'bob')).headers.get('idempotent-replayed')).toBe('true');
      }
      expect((await open(app, 'third', 'bob')).status).toBe(201);
    });
    const unique = await database.query(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
       WHERE conrelid = 'idempotency_keys'::regclass AND contype = 'u'`,
    );
    expect(unique).toEqual([{ definition: 'UNIQUE (id)' }]);
    // And forward again.
    await migrate(distribute({ colocateWith: 'public.accounts' }));
    expect(await placed('public')).toEqual(ALL_BESIDE);
  });

  it('takes a schema with rights and row-level security, which stay', async () => {
    const roles = { application: `${database.name}_app`, worker: `${database.name}_worker` };
    for (const role of Object.values(roles)) {
      await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
      await database.query(`GRANT SELECT, INSERT ON accounts TO ${role}`);
    }
    await database.query('CREATE SCHEMA "Own"');
    const own = idempotencyMigrationsIn('Own');
    const migrateOwn = (migrations: typeof own, work = run) =>
      migrate(migrations, work, 'own_migrations');
    await migrateOwn(own);
    await database.query(idempotencyGrants({ ...roles, schema: 'Own', rowLevelSecurity: true }));
    const step = { schema: 'Own', colocateWith: 'accounts', timestamp: TIMESTAMP + 1 };
    await migrateOwn([...own, distributeOnCitus(step)]);
    expect(await placed('"Own"')).toEqual(ALL_BESIDE);

    const { href } = Object.assign(new URL(database.url), {
      username: roles.application,
      password: 'secret',
    });
    await withApp(
      async (app) => {
        for (const account of ['ada', `it's "\\"`]) {
          const answers = [await open(app, 'own', account), await open(app, 'own', account)];
          expect(answers.map(({ status }) => status)).toEqual([201, 201]);
        }
        // A statement that is for one scope sees no other, on any node.
        const statements = app.app.get(Database, { strict: false });
        const sees = (scope: string) =>
          statements.for({ scope }).query('SELECT key FROM "Own".idempotency_keys', []);
        expect(await sees('ada')).toHaveLength(1);
        expect(await sees('nobody')).toEqual([]);
      },
      { schema: 'Own', rowLevelSecurity: true },
      { url: href },
    );
    const policies = `SELECT tablename, rowsecurity, policyname, qual
      FROM pg_policies JOIN pg_tables USING (schemaname, tablename)
      WHERE schemaname = 'Own' ORDER BY tablename, policyname`;
    const rights = `SELECT table_name, grantee, privilege_type FROM information_schema.table_privileges
      WHERE table_schema = 'Own' AND grantee = ANY ($1) ORDER BY 1, 2, 3`;
    const granted = () => database.query(rights, [Object.values(roles)]);
    const before = [await database.query(policies), await granted()];
    expect(before.every((rows) => rows.length > 8)).toBe(true);
    await migrateOwn([...own, distributeOnCitus(step)], undo);
    expect(await placed('"Own"')).toEqual([]);
    expect([await database.query(policies), await granted()]).toEqual(before);
    for (const role of Object.values(roles)) {
      await database.query(`DROP OWNED BY ${role}`);
      await database.query(`DROP ROLE ${role}`);
    }
  });

  it('changes nothing if the tables cannot be beside the given one, and says why', async () => {
    await database.query('CREATE TABLE "on one server" (id text)');
    await database.query('CREATE TABLE numbered (id bigint)');
    await database.query(`SELECT create_distributed_table('numbered', 'id')`);
    await database.query('CREATE TABLE worded ("The id" text)');
    await database.query(`SELECT create_distributed_table('worded', 'The id')`);
    await migrate(distribute({}), undo);
    for (const [colocateWith, reason] of [
      ['nowhere', `'nowhere', which is no distributed table`],
      ['"on one server"', 'which is no distributed table'],
      ['numbered', 'of type bigint'],
      ['worded', `column "The id" has the collation "default". The scope has "C"`],
    ] as const) {
      await expect(migrate(distribute({ colocateWith }))).rejects.toThrow(reason);
    }
    expect(await placed('public')).toEqual([]);
  });

  it('chooses tables with the collation of the scope, and none with another one', async () => {
    const beside = async (table: string) => {
      const [row] = await database.query(
        `SELECT count(*)::int AS n FROM pg_dist_partition p JOIN pg_dist_partition o USING (colocationid)
         WHERE p.logicalrelid = 'idempotency_keys'::regclass AND o.logicalrelid = $1::regclass`,
        [table],
      );
      return row!.n as number;
    };
    // The tables of the test before: one of them has text in the order of the database.
    await migrate(distribute({}));
    expect(await placed('public')).toHaveLength(DISTRIBUTED_TABLES.length);
    expect(await beside('worded')).toBe(0);
    await migrate(distribute({}), undo);

    await database.query('CREATE TABLE sorted (id text COLLATE "C")');
    await database.query(
      `SELECT create_distributed_table('sorted', 'id', colocate_with => 'none')`,
    );
    await migrate(distribute({}));
    expect(await beside('sorted')).toBe(1);
  });
}
