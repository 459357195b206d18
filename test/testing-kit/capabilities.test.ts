import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  CrashSafetyError,
  VerificationError,
  verifyCrashSafety,
  type CrashSafetyOptions,
  type RequestSource,
} from 'nestjs-atomic-idempotency/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TypeOrmModule } from '@nestjs/typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import {
  Capabilities,
  ForgetfulMailer,
  ledger,
  Parcels,
  SlowOrders,
  type Courier,
} from './capabilities.js';
import { createTables } from './handlers/orders.js';

forEachPlatform('What verifyCrashSafety can be told', (platform) => {
  let app: IdempotentApp;
  let reports: TestDatabase;

  const start = (options: object) =>
    startIdempotentApp(platform, {
      imports: [TypeOrmModule.forRoot({ ...reports.dataSourceOptions, name: 'reports' })],
      controllers: [Capabilities],
      providers: [SlowOrders, ForgetfulMailer, Parcels],
      logger: false,
      ...options,
    });

  beforeAll(async () => {
    const database = await createTestDatabase();
    await createTables(database);
    reports = await createTestDatabase({ migrated: false });
    await reports.query('CREATE TABLE reports (id serial PRIMARY KEY, text text)');
    app = await start({ database });
  });
  beforeEach(() => void ledger.splice(0));
  afterAll(async () => {
    await app.close();
    await app.database.drop();
    await reports.drop();
  });

  const verify = (path: string, options?: CrashSafetyOptions) =>
    verifyCrashSafety(app.app, { path: `/capabilities/${path}` }, options);

  const failure = async (
    request: RequestSource,
    options?: CrashSafetyOptions,
  ): Promise<CrashSafetyError> => {
    const error: unknown = await verifyCrashSafety(app.app, request, options).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CrashSafetyError);
    expect(error).toBeInstanceOf(VerificationError);
    return error as CrashSafetyError;
  };
  const codesOf = ({ report }: CrashSafetyError) => report.problems.map(({ code }) => code);

  it('sends a fresh body for each key, for columns that are unique', async () => {
    const request = (n: number) => ({
      path: '/capabilities/customer',
      body: { name: `${platform.name}-${n}` },
    });
    const { safe } = await verifyCrashSafety(app.app, request);
    expect(safe).toBe(true);
  });

  it('sends a fresh body for each key, for stock that is limited', async () => {
    const pieces = platform.name === 'express' ? 1_000 : 2_000;
    await app.database.query(
      'INSERT INTO stock SELECT id, 1 FROM generate_series($1::int, $1::int + 200) id',
      [pieces],
    );
    const request = (n: number) => ({
      path: '/capabilities/last-piece',
      body: { piece: pieces + n },
    });
    const { safe } = await verifyCrashSafety(app.app, request);
    expect(safe).toBe(true);
  });

  it('compares what observe() counts with the undisturbed run', async () => {
    const error = await failure(
      { path: '/capabilities/charge' },
      { observe: () => ({ charges: ledger }), expected: { charges: 1 } },
    );
    expect(codesOf(error)).toEqual(['observed_differs']);
    expect(error.message).toContain('"charges" of observe()');
    expect(error.message).toContain('It changed by 2 instead of 1.');
    expect(error.report.problems[0]!.at).toContain('crash at charge_created:after_call');
  });

  it('says that the undisturbed run is not what is expected', async () => {
    const error = await failure(
      { path: '/capabilities/order' },
      { observe: () => ({ charges: ledger }), expected: { charges: 1 } },
    );
    expect(codesOf(error)).toEqual(['not_as_expected']);
  });

  it('delivers each message of the outbox twice', async () => {
    const error = await failure(
      { path: '/capabilities/mail' },
      { observe: () => ({ mails: ledger }) },
    );
    expect(codesOf(error)).toEqual(['delivery_differs']);
    expect(error.report.problems[0]).toMatchObject({ at: ['messages delivered twice'] });
  });

  const parcel = (courier: Courier) => ({ path: '/capabilities/parcel', body: { courier } });

  it('loses the answers of calls that deliver a message, which the handler has to hear of', async () => {
    const { safe } = await verifyCrashSafety(app.app, parcel('careful'));
    expect(safe).toBe(true);
    const error = await failure(parcel('careless'));
    expect(codesOf(error)).toEqual(['call_not_awaited']);
    expect(error.message).toContain('The handler of "parcels.send" returned as if');
    expect(error.report.problems[0]!.line).toContain('test/testing-kit/capabilities.ts');
  });

  it('says that a message cannot be delivered', async () => {
    const error = await failure(parcel('lost'));
    expect(codesOf(error)).toEqual(['delivery_failed']);
    expect(error.message).toContain('There is no such street.');
  });

  it('calls meanwhile between a crash and its retry', async () => {
    const seen: string[] = [];
    const { runs } = await verify('order', {
      meanwhile: async ({ key, disturbance }) => {
        const [row] = await app.database.query('SELECT * FROM idempotency_keys WHERE key = $1', [
          key,
        ]);
        expect(row).toBeDefined();
        seen.push(disturbance);
      },
    });
    const disturbed = runs.map(({ disturbance }) => disturbance).slice(2);
    expect(seen).toEqual(disturbed);
  });

  it('counts something else that happens meanwhile as a difference, unless its table is ignored', async () => {
    const meanwhile = async () => {
      await app.database.query(`INSERT INTO logs (text) VALUES ('meanwhile')`);
    };
    const error = await failure({ path: '/capabilities/order' }, { meanwhile });
    expect(codesOf(error)).toEqual(['rows_differ']);
    expect(error.message).toContain('logs: 1 row inserted instead of 0.');
    const { safe } = await verify('order', { meanwhile, ignore: { tables: ['logs'] } });
    expect(safe).toBe(true);
  });

  it('does not compare a column that is ignored, of all tables or of one', async () => {
    const error = await failure({ path: '/capabilities/position' });
    expect(codesOf(error)).toEqual(['rows_differ']);
    expect(error.message).toContain('text "attempt 2" instead of text "attempt 1"');
    for (const column of ['text', 'logs.text']) {
      const { safe } = await verify('position', { ignore: { columns: [column] } });
      expect(safe).toBe(true);
    }
    const other = { ignore: { columns: ['orders.text'] } };
    expect(codesOf(await failure({ path: '/capabilities/position' }, other))).toEqual([
      'rows_differ',
    ]);
  });

  it('does not count calls to a host that is ignored, with or without its port', async () => {
    const server: Server = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const request = { path: '/capabilities/metrics', body: { url: `http://${host}` } };
    expect(codesOf(await failure(request))).toEqual(['call_outside_phase']);
    for (const ignored of [host, '127.0.0.1']) {
      const { safe } = await verifyCrashSafety(app.app, request, { ignore: { hosts: [ignored] } });
      expect(safe).toBe(true);
    }
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('leaves the comparison of answers to sameAnswer', async () => {
    const request = { path: '/capabilities/attempt' };
    expect(codesOf(await failure(request))).toEqual(['answer_differs']);
    const { safe } = await verifyCrashSafety(app.app, request, {
      sameAnswer: (undisturbed, afterCrash) => undisturbed.status === afterCrash.status,
    });
    expect(safe).toBe(true);
    const error = await failure(request, { sameAnswer: () => false });
    expect(codesOf(error)).toEqual(['answer_differs']);
    expect(error.message).toContain('not the same for sameAnswer (status 201)');
  });

  it('watches the tables of all data sources of the application', async () => {
    const request = (where: string) => ({ path: '/capabilities/reports', body: { where } });
    const outside = await failure(request('outside'));
    expect(codesOf(outside)).toEqual(['write_outside_phase']);
    expect(outside.message).toContain('reports: 2 rows inserted instead of 1.');
    const past = await failure(request('phase'));
    expect(codesOf(past)).toEqual(['write_past_transaction']);
    expect(past.message).toContain('reports: 2 rows inserted instead of 1.');
    for (const { line } of [...outside.report.problems, ...past.report.problems]) {
      expect(line).toMatch(/capabilities\.ts:\d+/);
    }
    const { safe } = await verifyCrashSafety(app.app, request('unprotected'));
    expect(safe).toBe(true);
  });

  it('accepts another status if that is the right one', async () => {
    const request = { path: '/capabilities/last-piece', body: { piece: -1 } };
    expect(codesOf(await failure(request))).toEqual(['not_a_success']);
    const { safe } = await verifyCrashSafety(app.app, request, { expectStatus: 409 });
    expect(safe).toBe(true);
  });

  it('keeps the table, and goes on, when afterEach throws', async () => {
    const seen: string[] = [];
    const error = await failure(
      { path: '/capabilities/order' },
      {
        afterEach: ({ disturbance }) => {
          seen.push(disturbance);
          if (disturbance === 'crash at reserved') expect('one').toBe('two');
        },
      },
    );
    expect(codesOf(error)).toEqual(['after_each_failed']);
    expect(error.report.problems[0]).toMatchObject({
      at: ['crash at reserved'],
      line: expect.stringContaining('capabilities.test.ts'),
    });
    expect(seen).toHaveLength(error.report.runs.length);
    expect(error.message).toContain(error.report.table);
  });

  it('makes no more runs than it may, and says which ones it left out', async () => {
    const done: number[] = [];
    const { runs, skipped, notes } = await verify('order', {
      runs: 6,
      progress: (progress) => void done.push(progress.done),
    });
    expect(runs).toHaveLength(6);
    expect(done).toEqual([1, 2, 3, 4]);
    expect(skipped).toContain('crash at order_created › before INSERT INTO orders');
    expect(notes.join()).toContain(`${skipped.length} runs of the plan were left out`);
  });

  it('reports as data that fits into a file', async () => {
    const report = await verify('order', { runs: 4 });
    const data = JSON.parse(JSON.stringify(report)) as typeof report;
    expect(data).toMatchObject({ safe: true, problems: [], runs: [{}, {}, {}, {}] });
    expect(data.runs[0]).toMatchObject({
      disturbance: 'undisturbed',
      changes: { orders: { inserted: 1, updated: 0, deleted: 0 } },
      answer: { status: 201, body: expect.stringContaining('"id"') },
    });
  });

  it('does not take a retryable 409 for an unknown outcome', async () => {
    const { runs } = await verify('conflict-first', { unknown: 'fail' });
    expect(runs[0]).toMatchObject({ outcome: 'final', requests: 2 });
  });

  it('follows a call to the same application, which has a key of its own', async () => {
    const { runs } = await verify('nested', { unknown: 'fail' });
    expect(runs.every(({ changes }) => changes.orders?.inserted === 1)).toBe(true);
    expect(runs[0]!.commits).toEqual({ order_placed: 1 });
  });

  it('leaves nothing behind, and removes what a killed run has left', async () => {
    await app.database.query(
      `CREATE SCHEMA IF NOT EXISTS idempotency_crash_kit;
       CREATE FUNCTION idempotency_crash_kit.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER idempotency_crash_kit_rows AFTER INSERT ON orders
         FOR EACH ROW EXECUTE FUNCTION idempotency_crash_kit.note()`,
    );
    await verify('order', { runs: 3 });
    expect(
      await app.database.query(
        `SELECT tgname FROM pg_trigger WHERE tgname LIKE '%crash_kit%'
         UNION ALL SELECT nspname FROM pg_namespace WHERE nspname LIKE '%crash_kit%'`,
      ),
    ).toEqual([]);
  });

  it('works with a pool of one connection, and with the jobs on', async () => {
    const small = await start({
      database: app.database,
      dataSource: { poolSize: 1 },
      idempotency: { maintenance: {} },
    });
    const request = { path: '/capabilities/background', body: { item: 'rocket' } };
    const { safe } = await verifyCrashSafety(small.app, request, { unknown: 'fail' });
    await small.close();
    expect(safe).toBe(true);
  });
});
