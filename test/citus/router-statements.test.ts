import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CompleterStore } from '../../lib/background/completer-store.js';
import { ReaperStore } from '../../lib/background/reaper-store.js';
import { ReconcilerStore } from '../../lib/background/reconciler-store.js';
import { PLAIN, PlainCiphers } from '../../lib/encryption/plain-cipher.js';
import { StatusStore } from '../../lib/background/status-store.js';
import { Attempt } from '../../lib/keys/attempt.js';
import { RecordedPhases } from '../../lib/keys/recorded-phases.js';
import type { FoundKey } from '../../lib/keys/found-key.js';
import type { Reservation, ReserveResult } from '../../lib/keys/reservation.js';
import type { Intent, PhaseStore } from '../../lib/phases/phase-store.js';
import { DeliveryStore } from '../../lib/outbox/delivery-store.js';
import { ResolutionQueries } from '../../lib/resolution/resolution-queries.js';
import { ResolutionStore } from '../../lib/resolution/resolution-store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openKeyStore, outcomeOf, reservationOf, type OpenKeyStore } from '../support/key-store.js';
import { withTransaction } from '../support/transactions.js';
import { describeOnCitus, preparedDuring } from './on-citus.js';

// A router query goes to one node, the one of its scope: the cost of a request
// does not grow with the number of nodes.
describeOnCitus('Statements on tables that are distributed by scope', () => {
  let database: TestDatabase;
  let keys: OpenKeyStore;
  let phases: PhaseStore;
  let status: StatusStore;
  let recorded: RecordedPhases;
  let resolutions: ResolutionStore;
  let seen: ResolutionQueries;

  beforeAll(async () => {
    database = await createTestDatabase();
    keys = await openKeyStore(database.url);
    ({ phases } = keys);
    status = new StatusStore(keys.statements, new PlainCiphers());
    recorded = new RecordedPhases(keys.statements);
    resolutions = new ResolutionStore(keys.statements, new PlainCiphers());
    seen = new ResolutionQueries(keys.statements);
  });
  afterAll(async () => {
    await keys?.close();
    await database?.drop();
  });

  async function sentBy(work: () => Promise<unknown>): Promise<OpenKeyStore['sent']> {
    const before = keys.sent.length;
    await work();
    return keys.sent.slice(before);
  }

  /**
   * The counts of tasks in the plans of all statements that the work sends.
   *
   * @param inTwoPhases how many of them are committed in two phases
   */
  async function tasksOf(work: () => Promise<unknown>, inTwoPhases = 0): Promise<number[]> {
    const counts: number[] = [];
    let sent: OpenKeyStore['sent'] = [];
    const prepared = await preparedDuring(database, async () => (sent = await sentBy(work)));
    expect(prepared).toBe(inTwoPhases);
    for (const { sql, parameters } of sent) {
      const plan = await explain(sql, parameters);
      const tasks = Array.from(plan.matchAll(/Task Count: (\d+)/g), ([, count]) => Number(count));
      expect({ sql, tasks: tasks.length }).not.toEqual({ sql, tasks: 0 });
      counts.push(...tasks);
    }
    return counts;
  }

  /** Statements are not prepared here: of a generic plan, the nodes would not be known. */
  async function explain(sql: string, parameters: unknown[]): Promise<string> {
    const rows = await withTransaction(database, async (tx) => {
      const result = await tx.query(`EXPLAIN (COSTS OFF) ${withValues(sql, parameters)}`);
      return result.rows as { 'QUERY PLAN': string }[];
    });
    return rows.map((row) => row['QUERY PLAN']).join('\n');
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
    await database.query(
      `UPDATE idempotency_keys SET locked_until = now() WHERE scope = $1 AND key = $2`,
      [reservation.scope, reservation.key],
    );
    const [found] = await keys.store.lookUp([reservation]);
    if (found?.kind !== 'found') throw new Error('The key was not found.');
    return found.key;
  }

  const lapse = ({ scope, id }: Attempt) =>
    database.query(
      'UPDATE idempotency_keys SET locked_until = now() WHERE scope = $1 AND id = $2',
      [scope, id],
    );

  const nameOf = ({ scope, endpoint, key, owner }: Attempt) => ({ scope, endpoint, key, owner });
  const phaseOf = (attempt: Attempt) => ({ attempt, name: 'charged', position: 1 });
  const intentOf = (attempt: Attempt, effectKey: string = randomUUID()): Intent => ({
    ...phaseOf(attempt),
    kind: 'foreign',
    state: 'intended',
    effectKey,
    inDoubt: 'stop',
    keyValidFor: null,
    request: undefined,
  });

  it('reserve a key, find it taken and record its outcome with one task each', async () => {
    const reservation = reservationOf(randomUUID());
    let result: ReserveResult | undefined;
    const take = async () => ([result] = await keys.store.reserve([reservation]));
    expect(await tasksOf(take)).toEqual([1]);
    expect(
      await tasksOf(() => keys.store.reserve([{ ...reservation, owner: randomUUID() }])),
    ).toEqual([1, 1]);
    const finish = () => keys.store.finish([outcomeOf(reservation, result)]);
    expect(await tasksOf(finish)).toEqual([1]);
    expect((await keys.store.lookUp([reservation]))[0]).toMatchObject({
      kind: 'found',
      key: { status: 'completed' },
    });
  });

  it('record phases with one task each', async () => {
    const attempt = await reserve();
    const intent = () => phases.record([intentOf(attempt)]);
    const end = () =>
      phases.record([
        { ...phaseOf(attempt), kind: 'foreign', state: 'finished', result: '{"paid":true}' },
      ]);
    expect(new Set(await tasksOf(intent))).toEqual(new Set([1]));
    expect(new Set(await tasksOf(end))).toEqual(new Set([1]));
    expect(await recorded.of(attempt, PLAIN)).toMatchObject([
      { name: 'charged', state: 'finished' },
    ]);
    expect(await tasksOf(() => recorded.of(attempt, PLAIN))).toEqual([1]);
    expect(await tasksOf(() => phases.endOf(attempt, 'charged'))).toEqual([1, 1]);
  });

  it('record nothing of a phase whose lease is lost', async () => {
    const attempt = await reserve();
    const lost = Object.assign(Object.create(attempt) as Attempt, { owner: randomUUID() });
    const end = { kind: 'foreign', state: 'finished', result: '1' } as const;
    expect(await phases.record([{ ...phaseOf(lost), ...end }])).toEqual([undefined]);
    expect(await phases.finishOperation(lost, { state: 'finished', result: '1' }, undefined)).toBe(
      false,
    );
    expect(await recorded.of(attempt, PLAIN)).toEqual([]);
    expect(await phases.record([{ ...phaseOf(attempt), ...end }])).toEqual([{ startedAt: null }]);
  });

  it('complete an operation without its client with one task each', async () => {
    const attempt = await reserve();
    attempt.operation = { name: 'rides.create', input: null };
    await phases.record([intentOf(attempt)]);
    const unrecorded = { name: 'charged', state: 'withdrawn', result: undefined } as const;
    const finish = () =>
      phases.finishOperation(attempt, { state: 'finished', result: '1' }, unrecorded);
    expect(new Set(await tasksOf(finish))).toEqual(new Set([1]));
    expect(await finish()).toBe(false);
    expect(await recorded.of(attempt, PLAIN)).toMatchObject([
      { name: 'charged', state: 'withdrawn' },
      { name: 'operation:rides.create', state: 'finished' },
    ]);
  });

  it('remove a key with its phases with one task each', async () => {
    const attempt = await reserve();
    await phases.record([
      { ...phaseOf(attempt), kind: 'foreign', state: 'finished', result: '{"paid":true}' },
    ]);
    await database.query(
      `UPDATE idempotency_keys SET status = 'completed', expires_at = now() - interval '1 day' WHERE key = $1`,
      [attempt.key],
    );
    const forget = () => keys.transitions.forget(attempt);
    expect(new Set(await tasksOf(forget))).toEqual(new Set([1]));
    expect(
      await database.query('SELECT FROM idempotency_keys WHERE id = $1', [attempt.id]),
    ).toEqual([]);
    expect(await recorded.of(attempt, PLAIN)).toEqual([]);
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
          input: null,
          maxRunTime: 1_000,
        }),
    ];
    for (const move of moves) expect(new Set(await tasksOf(move))).toEqual(new Set([1]));
  });

  it('renew, read and end the leases of a process with one task for each scope', async () => {
    const scopes = ['one', 'two', 'three'];
    const leases = await Promise.all(
      scopes.map((scope) => reserve(reservationOf(randomUUID(), { scope }))),
    );
    expect(await tasksOf(() => keys.leases.renew(leases))).toEqual([1, 1, 1]);
    expect(await keys.leases.renew(leases)).toEqual([]);
    expect(await tasksOf(() => keys.leases.stillRunning(leases))).toEqual([1, 1, 1]);
    expect(await keys.leases.stillRunning(leases)).toEqual(new Set(leases.map((l) => l.owner)));
    expect(await tasksOf(() => keys.leases.letGo(leases))).toEqual([1, 1, 1]);
    expect(await keys.leases.stillRunning(leases)).toEqual(new Set());
  });

  it('refuse a new key that is stale, after one statement that reads no table', async () => {
    const reservation = reservationOf(randomUUID(), { madeAt: 1_000 });
    expect(await keys.store.reserve([reservation])).toEqual([{ kind: 'stale' }]);
    const fresh = reservationOf(randomUUID(), { madeAt: Date.now() });
    expect(await keys.store.reserve([fresh])).toMatchObject([{ kind: 'reserved' }]);
  });

  it('find a call by its effect key on all nodes, and resolve it with one task', async () => {
    const attempt = await reserve();
    const effectKey = randomUUID();
    await phases.record([intentOf(attempt, effectKey)]);
    await lapse(attempt);
    const found = (await seen.effect(effectKey))!;
    expect(found).toMatchObject({ id: attempt.id, phase: 'charged' });
    expect(await tasksOf(() => seen.effect(effectKey))).toEqual([4]);
    const resolve = () =>
      resolutions.resolvePhase(found, { state: 'reconciled', result: '1' }, { who: 'webhook' });
    // Its entry for the audit is selected from what it has changed, through the coordinator.
    expect(new Set(await tasksOf(resolve, 1))).toEqual(new Set([1]));
    expect(await recorded.of(attempt, PLAIN)).toMatchObject([{ state: 'reconciled' }]);
  });

  it('claim what is due with one read of all nodes, and one task for each scope', async () => {
    const { statements } = keys;
    for (const scope of ['first', 'second']) {
      await database.query(
        `INSERT INTO idempotency_keys
           (scope, key, fingerprint, owner, locked_until, status, operation, resume_after, reconcile_after, expires_at)
         VALUES ($1, 'due', '', $2, now(), 'pending', 'ride', now(), NULL, NULL),
                ($1, 'doubtful', '', $2, now(), 'unknown', NULL, NULL, now(), NULL),
                ($1, 'old', '', $2, now(), 'completed', NULL, NULL, NULL, now())`,
        [scope, randomUUID()],
      );
      await database.query(
        `INSERT INTO idempotency_outbox (scope, id, topic) VALUES ($1, $2, 'mail')`,
        [scope, randomUUID()],
      );
    }
    const operations = new CompleterStore(statements);
    const unknown = new ReconcilerStore(statements, new PlainCiphers());
    const reaper = new ReaperStore(statements);
    const messages = new DeliveryStore(statements, new PlainCiphers());
    const answer = { status: 408, headers: {}, body: Buffer.alloc(0) };
    const choice = { limit: 10, from: null, except: [] };

    expect(await operations.claimOperations(['ride'], 1_000, 10)).toHaveLength(2);
    expect(await operations.claimOperations(['ride'], 1_000, 10)).toHaveLength(0);
    const doubtful = await unknown.claim([], 1_000, 10);
    expect(doubtful.filter(({ key }) => key === 'doubtful')).toHaveLength(2);
    expect(await messages.claim(null, randomUUID(), 1_000, 10)).toHaveLength(2);
    expect(await messages.claim(null, randomUUID(), 1_000, 10)).toHaveLength(0);
    const [, ...perScope] = await sentBy(() => reaper.reap(choice, answer));
    expect(perScope).toHaveLength(2);
    expect(await reaper.reap(choice, answer)).toEqual([]);
  });

  it('show the progress of a key with one task', async () => {
    const attempt = await reserve();
    expect(await tasksOf(() => status.progress(attempt.id, attempt.scope))).toEqual([1]);
    expect(await status.progress(attempt.id, attempt.scope)).toMatchObject({ id: attempt.id });
  });
});

/** EXPLAIN of an INSERT … SELECT takes no parameters on Citus. */
function withValues(sql: string, parameters: unknown[]): string {
  return sql.replaceAll(/\$(\d+)/g, (_, number: string) => literal(parameters[Number(number) - 1]));
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join()}]`;
  return `'${String(value as string | number).replaceAll("'", "''")}'`;
}
