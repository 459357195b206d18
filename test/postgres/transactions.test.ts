import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ClientBase } from 'pg';
import {
  DataSource,
  QueryFailedError,
  type EntityManager,
  type EntitySubscriberInterface,
} from 'typeorm';
import { Database } from '../../lib/postgres/database.js';
import { oneRowOrError } from '../../lib/postgres/one-row.js';
import { PreparedStatement } from '../../lib/postgres/prepared-statement.js';
import { Preceding } from '../../lib/postgres/same-trip.js';
import { Transactions } from '../../lib/postgres/transactions.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';

const LAST = new PreparedStatement(
  `WITH added AS (INSERT INTO words SELECT $1::text WHERE $2::boolean RETURNING word) ${oneRowOrError('added')}`,
);

/** A transaction ends with the word "last", if it is to end at all. */
const last = (commits = true) => ({
  scope: '',
  statement: LAST,
  parameters: ['last', commits],
  failure: (error: unknown) => new Error('not committed', { cause: error }),
});

const add = (tx: EntityManager, word: string) => tx.query('INSERT INTO words VALUES ($1)', [word]);

describe('A transaction that ends with a statement of the library', () => {
  let database: TestDatabase;
  let proxy: PostgresProxy;
  let dataSource: DataSource;
  let transactions: Transactions;
  let begins = 0;
  const begun = () => {
    begins += 1;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    await database.query('CREATE TABLE words (word text)');
    await database.query('CREATE TABLE owners (word text UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    proxy = await startPostgresProxy(database.url);
    dataSource = await new DataSource({
      type: 'postgres',
      url: proxy.url,
      poolSize: 2,
    }).initialize();
    transactions = new Transactions(dataSource, new Database(dataSource, 5_000, undefined, true));
  });
  beforeEach(async () => {
    await database.query('TRUNCATE words, owners');
    proxy.statements.length = 0;
    proxy.trips.length = 0;
    begins = 0;
  });
  afterAll(async () => {
    await dataSource.destroy();
    await proxy.close();
    await database.drop();
  });

  const words = async () =>
    (await database.query<{ word: string }>('SELECT word FROM words')).map(({ word }) => word);
  const sent = () => proxy.statements.map(({ sql }) => sql.split(/[ ;]/)[0]);

  it('sends BEGIN with the first statement and COMMIT with the last one', async () => {
    const used = await transactions.run(async (tx) => {
      await add(tx, 'first');
      expect(begins).toBe(1);
      return last();
    }, begun);

    expect(used).toBe(true);
    expect(sent()).toEqual(['START', 'INSERT', 'WITH', 'COMMIT']);
    expect(proxy.trips).toHaveLength(2);
    expect(await words()).toEqual(['first', 'last']);
  });

  it.each<[string, (tx: EntityManager) => Promise<unknown>]>([
    ['without parameters', (tx) => tx.query(`INSERT INTO words VALUES ('first')`)],
    [
      'of several commands',
      (tx) => tx.query(`INSERT INTO words VALUES ('first'); SELECT count(*) FROM words`),
    ],
    [
      'that is prepared already',
      async (tx) => {
        const client = (await tx.queryRunner!.connect()) as ClientBase;
        const named = { name: 'named', text: 'INSERT INTO words VALUES ($1)', values: ['first'] };
        await client.query(named);
      },
    ],
    ['in a nested transaction', (tx) => tx.transaction((nested) => add(nested, 'first'))],
    [
      'with a callback',
      async (tx) => {
        const client = (await tx.queryRunner!.connect()) as ClientBase;
        await new Promise<void>((resolve, reject) => {
          client.query(`INSERT INTO words VALUES ('first')`, (error: Error | null) =>
            error ? reject(error) : resolve(),
          );
        });
      },
    ],
    [
      'among several at once',
      async (tx) => {
        const client = (await tx.queryRunner!.connect()) as ClientBase;
        const both = [add(tx, 'first'), client.query('SELECT 1')];
        await Promise.all(both);
      },
    ],
  ])('begins before a first statement %s, and rolls it back with the rest', async (_, first) => {
    // Twice, so that a prepared statement is known to its connection the second time.
    for (let run = 0; run < 2; run++) {
      await expect(
        transactions.run(async (tx) => {
          await first(tx);
          expect(begins).toBe(run + 1);
          throw new Error('changed my mind');
        }, begun),
      ).rejects.toThrow('changed my mind');
    }
    expect(await words()).toEqual([]);

    await transactions.run(async (tx) => {
      await first(tx);
      return last();
    }, begun);
    expect(await words()).toEqual(['first', 'last']);
  });

  it('hands the results of the first statement on as they are', async () => {
    await transactions.run(async (tx) => {
      expect(await tx.query('SELECT 1 AS one, $1::text AS two', ['2'])).toEqual([
        { one: 1, two: '2' },
      ]);
      return undefined;
    }, begun);
    await transactions.run(async (tx) => {
      expect(await tx.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
      return undefined;
    }, begun);
  });

  it('treats an error on entering the scope as one of the last statement', async () => {
    const store = new Database(dataSource, 5_000, undefined, true);
    store.separateScopes();
    const entering = proxy.holdStatement(/set_config/);
    const failed = new Transactions(dataSource, store).run(async (tx) => {
      await add(tx, 'first');
      return last();
    }, begun);
    await entering.reached;
    entering.cut();

    await expect(failed).rejects.toThrow('not committed');
    expect(await words()).toEqual([]);
  });

  it('commits nothing if the last statement finds no row', async () => {
    const failed = transactions.run(async (tx) => {
      await add(tx, 'first');
      return last(false);
    }, begun);

    await expect(failed).rejects.toThrow('not committed');
    expect(await words()).toEqual([]);
    expect(sent()).toEqual(['START', 'INSERT', 'WITH', 'COMMIT', 'ROLLBACK']);
  });

  it('sends nothing at all if the work does not', async () => {
    expect(await transactions.run(async () => last(), begun)).toBe(false);
    await expect(
      transactions.run(async () => {
        throw new Error('changed my mind');
      }, begun),
    ).rejects.toThrow('changed my mind');

    expect(proxy.trips).toHaveLength(0);
    expect(begins).toBe(0);
    // The connection is as it was: its next statement is a transaction by itself.
    await dataSource.query(`INSERT INTO words VALUES ('alone')`);
    expect(sent()).toEqual(['INSERT']);
    expect(await words()).toEqual(['alone']);
  });

  it('has a statement in it that nobody awaits', async () => {
    let unawaited: Promise<unknown> | undefined;
    await transactions.run(async (tx) => {
      unawaited = add(tx, 'unawaited');
      return last();
    }, begun);
    await unawaited;
    expect(sent()).toEqual(['START', 'INSERT', 'WITH', 'COMMIT']);

    const failed = transactions.run(async (tx) => {
      unawaited = add(tx, 'rolled back');
      throw new Error('changed my mind');
    }, begun);
    await expect(failed).rejects.toThrow('changed my mind');
    await unawaited;
    expect(await words()).toEqual(['unawaited', 'last']);
  });

  it('keeps the isolation level of the data source', async () => {
    const strict = await new DataSource({
      type: 'postgres',
      url: proxy.url,
      isolationLevel: 'SERIALIZABLE',
    }).initialize();
    try {
      // TypeORM 0.3 does not know the option, and neither do its own transactions then.
      const usual = await strict.transaction((tx) => tx.query('SHOW transaction_isolation'));
      await new Transactions(strict, new Database(strict, 5_000)).run(async (tx) => {
        expect(await tx.query('SHOW transaction_isolation')).toEqual(usual);
        return undefined;
      }, begun);
    } finally {
      await strict.destroy();
    }
  });

  it('lets subscribers write at its beginning and before its end', async () => {
    const subscriber: EntitySubscriberInterface = {
      afterTransactionStart: async ({ queryRunner }) => {
        await queryRunner.query(`SET LOCAL application_name = 'begun'`);
      },
      beforeTransactionCommit: async ({ queryRunner }) => {
        await queryRunner.query('INSERT INTO words SELECT current_setting($1)', [
          'application_name',
        ]);
      },
    };
    dataSource.subscribers.push(subscriber);
    try {
      await transactions.run(async () => last(), begun);
    } finally {
      dataSource.subscribers.pop();
    }

    expect(await words()).toEqual(['begun', 'last']);
  });

  it('fails as with TypeORM if its COMMIT does', async () => {
    const failed = transactions.run(async (tx) => {
      await tx.query(`INSERT INTO owners VALUES ('same'), ('same')`);
      return last();
    }, begun);

    const error = await failed.catch((reason: unknown) => reason as QueryFailedError);
    expect(error).toBeInstanceOf(QueryFailedError);
    expect(error).toMatchObject({ query: 'COMMIT', driverError: { code: '23505' } });
    expect(await words()).toEqual([]);
  });

  it('sends COMMIT by itself if a package around the driver has dropped it', async () => {
    const unwrap = wrapDriver(dataSource, (query) => ({ ...(query as object) }));
    try {
      await transactions.run(async (tx) => {
        await add(tx, 'first');
        return last();
      }, begun);
    } finally {
      unwrap();
    }

    expect(sent()).toEqual(['START', 'INSERT', 'WITH', 'COMMIT']);
    expect(proxy.trips).toHaveLength(3);
    expect(await words()).toEqual(['first', 'last']);
  });

  it.each([true, false])(
    'works with a client that cannot share round trips (it commits: %s)',
    async (commits) => {
      const { prototype } = (dataSource.driver as any).postgres.Client;
      Object.defineProperty(prototype, 'pipeline', {
        get: () => true,
        set() {},
        configurable: true,
      });
      // A new pool: pg gives each client a property of its own.
      const other = await new DataSource({ type: 'postgres', url: proxy.url }).initialize();
      try {
        const ended = new Transactions(other, new Database(other, 5_000)).run(async (tx) => {
          await add(tx, 'first');
          return last(commits);
        }, begun);
        if (commits) await ended;
        else await expect(ended).rejects.toThrow('not committed');
      } finally {
        await other.destroy();
        delete prototype.pipeline;
      }

      expect(begins).toBe(1);
      expect(await words()).toEqual(commits ? ['first', 'last'] : []);
    },
  );

  it('tells the logger of TypeORM about every statement', async () => {
    const logged = jest.spyOn(dataSource.logger, 'logQuery');
    try {
      await transactions.run(async (tx) => {
        await add(tx, 'first');
        return last();
      }, begun);
      expect(logged.mock.calls.map(([text]) => text.split(' ')[0])).toEqual([
        'START',
        'INSERT',
        'WITH',
        'COMMIT',
      ]);
    } finally {
      logged.mockRestore();
    }
  });

  it('has its first statement skipped by the server if BEGIN fails', async () => {
    const runner = dataSource.createQueryRunner();
    try {
      const client = (await runner.connect()) as ClientBase;
      for (const values of [['skipped'], undefined]) {
        new Preceding(client, begun).add('SELECT 1 / 0');
        const text = `INSERT INTO words VALUES (${values ? '$1' : `'skipped'`})`;
        await expect(runner.query(text, values)).rejects.toThrow('division by zero');
      }
      expect(begins).toBe(0);
      expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      await runner.release();
    }
    expect(await words()).toEqual([]);
  });
});

/** As tracing packages do: `change` sees the first argument of each query. */
function wrapDriver(dataSource: DataSource, change: (query: unknown) => unknown): () => void {
  const { prototype } = (dataSource.driver as any).postgres.Client;
  const { query } = prototype;
  prototype.query = function (this: unknown, first: unknown, ...rest: unknown[]) {
    const isObject = typeof first === 'object' && first !== null;
    return query.call(this, isObject ? change(first) : first, ...rest);
  };
  return () => {
    prototype.query = query;
  };
}
