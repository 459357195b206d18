import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyQuery } from 'nestjs-atomic-idempotency';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey } from './key-states.js';

forEachPlatform('Finding keys', (platform) => {
  let app: IdempotentApp;
  const ids: Record<'completed' | 'failed' | 'unknown', string> = {} as never;
  let effectKey: string;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { logger: false });
    // More than one statement reads: the wanted keys come after them.
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, status, created_at)
       SELECT 'crowd', 'key-' || n, '', gen_random_uuid(), now(), 'completed', now() - interval '1 hour'
       FROM generate_series(1, 21000) n`,
    );
    ids.completed = (await insertKey(app.database, 'completed')).id;
    const failed = await insertKey(app.database, 'failed', 'ada');
    ids.failed = failed.id;
    const unknown = await insertKey(app.database, 'unknown, in doubt');
    ids.unknown = unknown.id;
    effectKey = unknown.effectKey;
    await app.database.query('DELETE FROM idempotency_phases WHERE key_id = $1', [failed.id]);
    await app.database.query(
      `UPDATE idempotency_keys SET key = 'order-1', created_at = now() - interval '2 days'
       WHERE id = $1`,
      [ids.failed],
    );
  });
  afterAll(() => app.close());

  describe('Keys are found', () => {
    const found = async (query: KeyQuery) =>
      (await operatorOf(app).find(query)).keys.map(({ id }) => id);

    it.each<[string, () => KeyQuery, () => string[]]>([
      ['by status', () => ({ status: 'unknown' }), () => [ids.unknown]],
      [
        'by several statuses',
        () => ({ status: ['unknown', 'failed_retryable'] }),
        () => [ids.failed, ids.unknown],
      ],
      ['by scope', () => ({ scope: 'ada' }), () => [ids.failed]],
      ['by key', () => ({ key: 'order-1' }), () => [ids.failed]],
      ['by scope and key', () => ({ scope: 'ada', key: 'order-1' }), () => [ids.failed]],
      ['by the key of a foreign call', () => ({ effectKey }), () => [ids.unknown]],
      ['by age', () => ({ olderThan: '1d' }), () => [ids.failed]],
      [
        'by youth and scope',
        () => ({ youngerThan: '30m', scope: '' }),
        () => [ids.completed, ids.unknown],
      ],
      ['only if all of it holds', () => ({ status: 'unknown', scope: 'ada' }), () => []],
      ['in vain', () => ({ scope: 'nobody' }), () => []],
    ])('%s', async (_, query, expected) => {
      expect(await found(query())).toEqual(expected());
    });

    it('with what a person needs to see first', async () => {
      const { keys } = await operatorOf(app).find({ status: 'unknown' });
      expect(keys).toEqual([
        expect.objectContaining({
          id: ids.unknown,
          status: 'unknown',
          attempt: 1,
          recoveryPoint: 'started',
          inDoubt: { phase: 'charge_created', effectKey, startedAt: expect.any(Date) },
          reconcileAfter: null,
          createdAt: expect.any(Date),
        }),
      ]);
    });

    it('page by page, each once', async () => {
      const pages: string[][] = [];
      let next: string | undefined;
      do {
        const query: KeyQuery = { status: ['completed', 'unknown'], scope: '', limit: 1 };
        const page = await operatorOf(app).find(
          next === undefined ? query : { ...query, after: next },
        );
        pages.push(page.keys.map(({ id }) => id));
        next = page.next;
      } while (next !== undefined);
      expect(pages).toEqual([[ids.completed], [ids.unknown], []]);
    });

    it.each<[KeyQuery, RegExp]>([
      [{ status: 'lost' as never }, /status is "lost"\. Use one of pending, /],
      [{ effectKey: 'ch_1' }, /effectKey is "ch_1"\. Use a UUID/],
      [{ olderThan: 'long' }, /olderThan is "long"\. Use milliseconds/],
      [{ limit: 0 }, /limit is 0\. Use a whole number/],
      [{ after: 'x' }, /after is "x"/],
    ])('not with %j, and the error says why', async (query, message) => {
      await expect(operatorOf(app).find(query)).rejects.toThrow(message);
    });
  });
});
