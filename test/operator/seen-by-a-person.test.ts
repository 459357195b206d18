import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { auditOf, operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey } from './key-states.js';

forEachPlatform(
  'Decisions of a person',
  (platform) => {
    describe('A decision that says what was seen', () => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, { logger: false });
      });
      afterAll(() => app.close());

      it('is taken while the key is as it was seen', async () => {
        const { effectKey } = await insertKey(app.database, 'unknown, in doubt');
        const by = { who: 'ada', seen: { status: 'unknown', attempt: 1 } } as const;
        const change = await operatorOf(app).resolve(effectKey, { outcome: 'not_executed' }, by);
        expect(change).toMatchObject({ changed: true });
      });

      it.each([
        ['status', { status: 'failed_retryable', attempt: 1 }],
        ['attempt', { status: 'unknown', attempt: 2 }],
      ] as const)('is refused where the %s is another one by now', async (_, seen) => {
        const { id, key, effectKey } = await insertKey(app.database, 'unknown, in doubt');
        const by = { who: 'ada', seen };
        const operator = operatorOf(app);
        const refused = { changed: false, reason: 'changed_meanwhile' };
        expect(await operator.resolve(effectKey, { outcome: 'not_executed' }, by)).toMatchObject(
          refused,
        );
        expect(await operator.retry(id, by)).toMatchObject(refused);
        expect(await auditOf(app.database, key)).toEqual([]);
      });
    });
  },
  ['express'],
);
