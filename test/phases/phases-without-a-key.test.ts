import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource, type EntityManager } from 'typeorm';
import { OrphanedPhasesStore } from '../../lib/background/orphaned-phases-store.js';
import { ReaperStore } from '../../lib/background/reaper-store.js';
import { Attempt } from '../../lib/keys/attempt.js';
import { PLAIN, PlainCiphers } from '../../lib/encryption/plain-cipher.js';
import { RecordedPhases } from '../../lib/keys/recorded-phases.js';
import type { PhaseStore } from '../../lib/phases/phase-store.js';
import { LeaseLostError } from '../../lib/policy/phase-errors.js';
import { ResolutionQueries } from '../../lib/resolution/resolution-queries.js';
import { ResolutionStore } from '../../lib/resolution/resolution-store.js';
import { reservationOf } from '../support/key-store.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { useKeyStore } from '../support/use-key-store.js';

// No foreign key binds a phase to its key. So every phase is written together with
// an update of the key, and every statement that removes a key removes its phases.
describe('Phases', () => {
  const { database, keys } = useKeyStore();
  let dataSource: DataSource;
  let phases: PhaseStore;
  let recorded: RecordedPhases;
  let reaper: ReaperStore;
  let resolutions: ResolutionStore;
  let queries: ResolutionQueries;
  beforeAll(async () => {
    dataSource = new DataSource({ type: 'postgres', url: database.url });
    await dataSource.initialize();
    ({ phases } = keys);
    recorded = new RecordedPhases(keys.statements);
    reaper = new ReaperStore(keys.statements);
    resolutions = new ResolutionStore(keys.statements, new PlainCiphers());
    queries = new ResolutionQueries(keys.statements);
  });
  afterAll(() => dataSource?.destroy());
  beforeEach(() => database.query('TRUNCATE idempotency_keys, idempotency_phases'));

  async function reserve(key: string = randomUUID()): Promise<Attempt> {
    const reservation = reservationOf(key);
    const [taken] = await keys.store.reserve([reservation]);
    if (taken?.kind !== 'reserved') throw new Error('The key was taken.');
    const row = { id: taken.id, number: 1, recoveryPoint: 'started', resumeAttempts: 0 };
    return new Attempt(reservation, { maxRunTime: 1_000 } as never, { ...row, recorded: [] });
  }

  const intend = async (attempt: Attempt, effectKey = randomUUID()) => {
    const [entry] = await phases.record([
      {
        ...{ attempt, name: 'charged', position: 1, kind: 'foreign', state: 'intended', effectKey },
        ...{ inDoubt: 'stop', keyValidFor: null, request: undefined },
      },
    ]);
    return entry;
  };
  /** In a transaction of the application: then its waits for locks are not bounded. */
  const finishIn = async (tx: EntityManager, attempt: Attempt): Promise<boolean> => {
    const { statement, parameters, failure } = phases.lastStatement({
      ...{ attempt, name: 'charged', position: 1, kind: 'foreign', state: 'finished' },
      result: undefined,
    });
    try {
      await tx.query(statement.text, parameters);
      return true;
    } catch (error) {
      expect(failure(error)).toBeInstanceOf(LeaseLostError);
      return false;
    }
  };
  const LAPSED = `locked_until = now() - interval '1 second'`;
  const change = (attempt: Attempt, assignments: string) =>
    database.query(`UPDATE idempotency_keys SET ${assignments} WHERE id = $1`, [attempt.id]);
  const evict = async ({ id }: Attempt) =>
    resolutions.evict((await queries.key(id))!, { who: 'support' });
  const reap = () =>
    reaper.reap(
      { limit: 10, from: null, except: [] },
      { status: 408, headers: {}, body: Buffer.alloc(0) },
    );
  const left = async () => {
    const [row] = await database.query(
      `SELECT (SELECT count(*) FROM idempotency_keys)::int AS keys,
              (SELECT count(*) FROM idempotency_phases)::int AS phases`,
    );
    return row;
  };

  describe('are removed with their key', () => {
    const EXPIRED = `expires_at = now() - interval '1 day'`;

    it.each<[string, string, (attempt: Attempt) => Promise<unknown>]>([
      ['by a late retry', `status = 'completed', ${EXPIRED}`, (a) => keys.transitions.forget(a)],
      ['by the reaper', `status = 'completed', ${EXPIRED}`, reap],
      ['by an operator', `status = 'failed_retryable'`, evict],
    ])('%s', async (_, state, remove) => {
      const [attempt, other] = [await reserve(), await reserve()];
      await intend(attempt);
      await intend(other);
      await change(attempt, state);
      await remove(attempt);
      expect(await left()).toEqual({ keys: 1, phases: 1 });
      expect(await recorded.of(other, PLAIN)).toHaveLength(1);
    });
  });

  describe('of a key that is being removed', () => {
    it('are not written after its removal', async () => {
      const attempt = await reserve();
      const written = withTransaction(database, async (tx) => {
        await tx.query('DELETE FROM idempotency_keys WHERE scope = $1 AND id = $2', [
          attempt.scope,
          attempt.id,
        ]);
        const finishing = dataSource.transaction((own) => finishIn(own, attempt));
        await untilBlocked(database);
        await tx.query('COMMIT');
        return finishing;
      });
      expect(await written).toBe(false);
      expect(await left()).toEqual({ keys: 0, phases: 0 });
    });

    it('are not written after an operator has evicted it', async () => {
      const attempt = await reserve();
      await intend(attempt);
      await change(attempt, LAPSED);
      const [evicted, written] = await withTransaction(database, async (tx) => {
        await tx.query('SELECT FROM idempotency_keys WHERE scope = $1 AND id = $2 FOR UPDATE', [
          attempt.scope,
          attempt.id,
        ]);
        const evicting = evict(attempt);
        await untilBlocked(database, 1);
        const finishing = dataSource.transaction((own) => finishIn(own, attempt));
        await untilBlocked(database, 2);
        await tx.query('COMMIT');
        return Promise.all([evicting, finishing]);
      });
      expect({ evicted, written }).toEqual({ evicted: { after: null }, written: false });
      expect(await left()).toEqual({ keys: 0, phases: 0 });
    });

    it('keep it if they are written first', async () => {
      const attempt = await reserve();
      await change(attempt, LAPSED);
      const evicting = await dataSource.transaction(async (tx) => {
        expect(await finishIn(tx, attempt)).toBe(true);
        const waiting = evict(attempt);
        await untilBlocked(database);
        return { waiting };
      });
      expect(await evicting.waiting).toBeUndefined();
      expect(await left()).toEqual({ keys: 1, phases: 1 });
    });

    it('keep it from the reaper, which does not wait for them', async () => {
      const attempt = await reserve();
      await change(attempt, `status = 'completed', expires_at = now() - interval '1 day'`);
      await withTransaction(database, async (tx) => {
        await tx.query(
          `UPDATE idempotency_keys SET status = 'in_progress', locked_until = now() + interval '1 minute' WHERE id = $1`,
          [attempt.id],
        );
        expect(await reap()).toEqual([]);
        await tx.query('COMMIT');
      });
      await intend(attempt);
      expect(await reap()).toEqual([]);
      expect(await left()).toEqual({ keys: 1, phases: 1 });
    });
  });

  describe('whose key somebody else has removed', () => {
    it('belong to no later row of the same key, and no webhook finds them', async () => {
      const key = randomUUID();
      const effectKey = randomUUID();
      await intend(await reserve(key), effectKey);
      await database.query('DELETE FROM idempotency_keys');
      expect(await left()).toEqual({ keys: 0, phases: 1 });

      const anew = await reserve(key);
      expect(await recorded.of(anew, PLAIN)).toEqual([]);
      expect(await queries.effect(effectKey)).toBeUndefined();
      expect(await intend(anew)).toEqual({ startedAt: expect.any(Date) });
      expect(await recorded.of(anew, PLAIN)).toHaveLength(1);
    });

    it('are found in the order of the primary key, a few thousand at a time', async () => {
      const orphans = new OrphanedPhasesStore(keys.statements);
      const { id } = await reserve();
      await database.query(
        `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt)
         SELECT 'tests', $1::bigint, 'phase_' || n, n, 'local', 'finished', 1 FROM generate_series(1, 5000) n
         UNION ALL SELECT scope, 1, 'phase', 1, 'local', 'finished', 1
         FROM unnest('{before,tests,well after}'::text[]) scope WHERE $1::bigint > 1`,
        [id],
      );
      const scopes = async () => {
        const rows = await database.query<{ scope: string }>(
          'SELECT scope FROM idempotency_phases WHERE key_id = 1 ORDER BY 1',
        );
        return rows.map(({ scope }) => scope);
      };
      expect(await scopes()).toEqual(['before', 'tests', 'well after']);
      await orphans.removeNext();
      expect(await scopes()).toEqual(['well after']);
      await orphans.removeNext();
      expect(await left()).toEqual({ keys: 1, phases: 5_000 });

      // From the beginning again.
      await database.query(
        `UPDATE idempotency_phases SET key_id = 1 WHERE name IN ('phase_1', 'phase_2')`,
      );
      await orphans.removeNext();
      expect(await left()).toEqual({ keys: 1, phases: 4_998 });
    });
  });
});
