import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { StatusStore } from '../../lib/background/status-store.js';
import { Attempt } from '../../lib/keys/attempt.js';
import { RecordedPhases } from '../../lib/keys/recorded-phases.js';
import type { FoundKey, Reservation } from '../../lib/keys/key-store.js';
import { PhaseStore } from '../../lib/phases/phase-store.js';
import { idempotencyMigrations } from '../../migrations/index.js';
import { openKeyStore, reservationOf, type OpenKeyStore } from '../support/key-store.js';

// A router query goes to one node, the one of its scope: the cost of a request
// does not grow with the number of nodes. Runs where CITUS_URL names a cluster.
const { CITUS_URL } = process.env;
const describeOnCitus = CITUS_URL ? describe : describe.skip;

describeOnCitus('Statements of a request on tables that are distributed by scope', () => {
  let admin: DataSource;
  let keys: OpenKeyStore;
  let phases: PhaseStore;
  let status: StatusStore;
  let recorded: RecordedPhases;

  beforeAll(async () => {
    admin = new DataSource({
      type: 'postgres',
      url: CITUS_URL!,
      migrations: [...idempotencyMigrations],
    });
    await admin.initialize();
    await dropTables();
    await admin.runMigrations();
    await distribute();
    keys = await openKeyStore(CITUS_URL!, { distributed: true });
    phases = new PhaseStore(keys.statements);
    status = new StatusStore(keys.statements);
    recorded = new RecordedPhases(keys.statements);
  });
  afterAll(async () => {
    await keys?.close();
    if (admin?.isInitialized) await dropTables();
    await admin?.destroy();
  });

  async function dropTables(): Promise<void> {
    for (const table of ['phases', 'keys', 'outbox', 'audit', 'jobs', 'processes']) {
      await admin.query(`DROP TABLE IF EXISTS idempotency_${table}`);
    }
    await admin.query('DROP TABLE IF EXISTS migrations');
  }

  async function distribute(): Promise<void> {
    // A unique constraint has to contain the distribution column. The id is found by a plain index.
    const [unique] = await admin.query(
      `SELECT conname FROM pg_constraint WHERE conrelid = 'idempotency_keys'::regclass AND contype = 'u'`,
    );
    await admin.query(`ALTER TABLE idempotency_keys DROP CONSTRAINT "${unique.conname}"`);
    await admin.query('CREATE INDEX ON idempotency_keys (id)');
    await admin.query(`SELECT create_distributed_table('idempotency_keys', 'scope')`);
    for (const table of ['idempotency_phases', 'idempotency_audit', 'idempotency_outbox']) {
      await admin.query(
        `SELECT create_distributed_table('${table}', 'scope', colocate_with => 'idempotency_keys')`,
      );
    }
  }

  /** The counts of tasks in the plans of all statements that the work sends. */
  async function tasksOf(work: () => Promise<unknown>): Promise<number[]> {
    const before = keys.sent.length;
    await work();
    const counts: number[] = [];
    for (const { sql, parameters } of keys.sent.slice(before)) {
      const plan = await explain(sql, parameters);
      const tasks = Array.from(plan.matchAll(/Task Count: (\d+)/g), ([, count]) => Number(count));
      expect({ sql, tasks: tasks.length }).not.toEqual({ sql, tasks: 0 });
      counts.push(...tasks);
    }
    return counts;
  }

  /** Statements are not prepared here: of a generic plan, the nodes would not be known. */
  async function explain(sql: string, parameters: unknown[]): Promise<string> {
    const runner = admin.createQueryRunner();
    try {
      await runner.query('BEGIN');
      const rows = await runner.query(`EXPLAIN (COSTS OFF) ${withValues(sql, parameters)}`);
      return rows.map((row: { 'QUERY PLAN': string }) => row['QUERY PLAN']).join('\n');
    } finally {
      await runner.query('ROLLBACK');
      await runner.release();
    }
  }

  async function reserve(reservation: Reservation = reservationOf(randomUUID())): Promise<Attempt> {
    const [taken] = await keys.store.reserve([reservation]);
    if (taken?.kind !== 'reserved') throw new Error('The key was taken.');
    return new Attempt(reservation, { maxRunTime: 1_000 } as never, {
      id: taken.id,
      number: 1,
      recoveryPoint: 'started',
      resumeAttempts: 0,
      recorded: [],
    });
  }

  async function lapsed(): Promise<FoundKey> {
    const reservation = reservationOf(randomUUID());
    await keys.store.reserve([reservation]);
    await admin.query(`UPDATE idempotency_keys SET locked_until = now() WHERE key = $1`, [
      reservation.key,
    ]);
    const [found] = await keys.store.lookUp([reservation]);
    if (found?.kind !== 'found') throw new Error('The key was not found.');
    return found.key;
  }

  const nameOf = ({ scope, endpoint, key, owner }: Attempt) => ({ scope, endpoint, key, owner });
  const phaseOf = (attempt: Attempt) => ({ attempt, name: 'charged', position: 1 });

  it('reserve a key, find it taken and record its outcome with one task each', async () => {
    const reservation = reservationOf(randomUUID());
    expect(await tasksOf(() => keys.store.reserve([reservation]))).toEqual([1]);
    expect(
      await tasksOf(() => keys.store.reserve([{ ...reservation, owner: randomUUID() }])),
    ).toEqual([1, 1]);
    const { scope, endpoint, key, owner } = reservation;
    const finish = () =>
      keys.store.finish([
        {
          scope,
          endpoint,
          key,
          owner,
          status: 'completed',
          responseStatus: 201,
          responseHeaders: {},
          responseBody: Buffer.from('made'),
          errorCode: null,
          retention: 86_400_000,
          resumeIn: null,
        },
      ]);
    expect(await tasksOf(finish)).toEqual([1]);
    expect((await keys.store.lookUp([reservation]))[0]).toMatchObject({
      kind: 'found',
      key: { status: 'completed' },
    });
  });

  it('record phases with one task each', async () => {
    const attempt = await reserve();
    const intent = () =>
      phases.record([
        {
          ...phaseOf(attempt),
          kind: 'foreign',
          state: 'intended',
          effectKey: randomUUID(),
          inDoubt: 'stop',
          keyValidFor: null,
          request: undefined,
        },
      ]);
    const end = () =>
      phases.record([
        { ...phaseOf(attempt), kind: 'foreign', state: 'finished', result: '{"paid":true}' },
      ]);
    expect(new Set(await tasksOf(intent))).toEqual(new Set([1]));
    expect(new Set(await tasksOf(end))).toEqual(new Set([1]));
    expect(await recorded.of(attempt)).toMatchObject([{ name: 'charged', state: 'finished' }]);
    expect(await tasksOf(() => recorded.of(attempt))).toEqual([1]);
    expect(await tasksOf(() => phases.endOf(attempt, 'charged'))).toEqual([1, 1]);
  });

  it('remove a key with its phases with one task each', async () => {
    const attempt = await reserve();
    await phases.record([
      { ...phaseOf(attempt), kind: 'foreign', state: 'finished', result: '{"paid":true}' },
    ]);
    await admin.query(
      `UPDATE idempotency_keys SET status = 'completed', expires_at = now() - interval '1 day' WHERE key = $1`,
      [attempt.key],
    );
    const forget = () => keys.transitions.forget(attempt);
    expect(new Set(await tasksOf(forget))).toEqual(new Set([1]));
    expect(await admin.query('SELECT FROM idempotency_keys WHERE id = $1', [attempt.id])).toEqual(
      [],
    );
    expect(await recorded.of(attempt)).toEqual([]);
  });

  it('move a key from state to state with one task each', async () => {
    const { transitions } = keys;
    const moves: (() => Promise<unknown>)[] = [
      async () => transitions.giveBack(nameOf(await reserve())),
      async () => transitions.takeOver(await lapsed(), randomUUID(), 1_000),
      async () => transitions.declareUnknown(await lapsed(), 'abandoned'),
      async () => transitions.release(await lapsed()),
      async () => transitions.forget(await lapsed()),
      async () =>
        transitions.leaveToWorker(await reserve(), {
          name: 'rides.create',
          input: undefined,
          maxRunTime: 1_000,
        }),
    ];
    for (const move of moves) expect(new Set(await tasksOf(move))).toEqual(new Set([1]));
  });

  it('show the progress of a key with one task', async () => {
    const attempt = await reserve();
    expect(await tasksOf(() => status.progress(attempt.id, attempt.scope))).toEqual([1]);
    expect(await status.progress(attempt.id, attempt.scope)).toMatchObject({ id: attempt.id });
  });
});

/** EXPLAIN of an INSERT … SELECT takes no parameters on Citus. */
function withValues(sql: string, parameters: unknown[]): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number: string) => {
    const value = parameters[Number(number) - 1];
    if (value === null || value === undefined) return 'NULL';
    if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
    return `'${String(value as string | number).replaceAll("'", "''")}'`;
  });
}
