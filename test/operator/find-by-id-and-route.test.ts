import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey } from './key-states.js';

forEachPlatform(
  'The search of the operator',
  (platform) => {
    describe('Keys are found', () => {
      let app: IdempotentApp;
      let id: string;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, { logger: false });
        await app.database.query(
          `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, status, route)
           SELECT 'crowd', 'key-' || n, '', gen_random_uuid(), now(), 'completed', '/orders'
           FROM generate_series(1, 21000) n`,
        );
        ({ id } = await insertKey(app.database, 'failed'));
        await app.database.query('UPDATE idempotency_keys SET route = $2 WHERE id = $1', [
          id,
          '/rides/:id/tips',
        ]);
      });
      afterAll(() => app.close());

      it('by id, and only if the rest holds too', async () => {
        const operator = operatorOf(app);
        expect((await operator.find({ id })).keys).toEqual([expect.objectContaining({ id })]);
        expect((await operator.find({ id, status: 'unknown' })).keys).toEqual([]);
        await expect(operator.find({ id: 'x' })).rejects.toThrow(/id is "x"\. Use the id of a key/);
      });

      it('by route', async () => {
        const { keys } = await operatorOf(app).find({ route: '/rides/:id/tips' });
        expect(keys.map((key) => key.id)).toEqual([id]);
      });

      it('with a bounded walk, which goes on where it has stopped', async () => {
        const operator = operatorOf(app);
        const query = { status: 'failed_retryable', walk: 20_000 } as const;
        const first = await operator.find(query);
        expect(first.keys).toEqual([]);
        expect(first.next).toEqual(expect.any(String));
        const second = await operator.find({ ...query, after: first.next! });
        expect(second.keys.map((key) => key.id)).toEqual([id]);
        expect(second.next).toBeUndefined();
        await expect(operator.find({ walk: 0 })).rejects.toThrow(/walk is 0\. Use a whole number/);
      });
    });
  },
  // It is about rows, not about requests.
  ['express'],
);
