import { afterEach, expect, it } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, RESERVE } from '../support/store-statements.js';
import { needsOwnSession } from '../support/own-session.js';

const itAlone = needsOwnSession('the prepared statements of its connection');

forEachPlatform('Prepared statements', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;
  afterEach(() => app.close());

  const start = async (poolSize: number, preparedStatements = true) => {
    routes.answers((execution) => ({ execution }));
    app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      idempotency: { preparedStatements },
      dataSource: { poolSize },
      logger: false,
    });
  };
  const order = (key: string) => send(`${app.url}/orders`, { key });
  const namesOf = (pattern: RegExp) =>
    new Set(app.proxy.statements.filter(({ sql }) => pattern.test(sql)).map(({ name }) => name));

  /** A connection of the application itself, as it comes out of its pool. */
  async function onConnection(work: (runner: QueryRunner) => Promise<unknown>): Promise<void> {
    const runner = app.app.get(DataSource).createQueryRunner();
    await work(runner);
    await runner.release();
  }

  itAlone('are prepared once per connection for all requests', async () => {
    await start(1);
    for (let i = 0; i < 5; i++) expect((await order(`order-${i}`)).status).toBe(201);
    const [reserve, ...others] = namesOf(RESERVE);
    expect(others).toEqual([]);
    expect(reserve).toMatch(/^idempotency_[0-9a-f]{16}_\d+$/);
    await onConnection(async (runner) => {
      const prepared = await runner.query('SELECT name FROM pg_prepared_statements');
      expect(prepared.map(({ name }: { name: string }) => name).toSorted()).toEqual(
        [...namesOf(RESERVE), ...namesOf(FINISH)].toSorted(),
      );
    });
  });

  itAlone('are planned again when the table may have grown', async () => {
    await start(1);
    for (let i = 0; i < 200; i++) await order(`order-${i}`);
    expect(namesOf(RESERVE).size).toBe(2); // from 1 on and from 128 on
  });

  // What a proxy that pools transactions does to whoever prepares statements.
  itAlone('are sent without a name if they are missing on their connection', async () => {
    await start(1);
    for (let i = 0; i < 3; i++) await order(`before-${i}`);
    await onConnection((runner) => runner.query('DEALLOCATE ALL'));
    for (let i = 0; i < 3; i++) {
      expect((await order(`after-${i}`)).status).toBe(201);
      expect((await order(`after-${i}`)).headers.get('idempotent-replayed')).toBe('true');
    }
    expect(routes.executions).toBe(6);
    expect(app.proxy.statements.slice(-3).map(({ name }) => name)).toEqual(['', '', '']);
  });

  itAlone(
    'are sent without a name if another statement has the name on the connection',
    async () => {
      await start(2);
      await order('first');
      const taken = [...namesOf(RESERVE), ...namesOf(FINISH)];
      await onConnection(async (used) => {
        await used.connect();
        await onConnection(async (fresh) => {
          for (const name of taken) await fresh.query(`PREPARE ${name} AS SELECT 1`);
        });
        for (let i = 0; i < 3; i++) expect((await order(`after-${i}`)).status).toBe(201);
      });
      expect(routes.executions).toBe(4);
      expect(app.proxy.statements.slice(-3).map(({ name }) => name)).toEqual(['', '', '']);
    },
  );

  it('are not used if preparedStatements is false', async () => {
    await start(1, false);
    for (let i = 0; i < 3; i++) await order(`order-${i}`);
    expect(app.proxy.statements.filter(({ name }) => name !== '')).toEqual([]);
  });
});
