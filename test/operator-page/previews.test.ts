import { BadRequestException } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { insertKey, STATES, type StateName } from '../operator/key-states.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import type { Decision } from '../../lib/operator/page/decision.js';
import { phaseOf } from '../../lib/operator/page/decider.js';
import { predict } from '../../lib/operator/page/prediction.js';

const DECISIONS: Record<string, Decision> = {
  executed: { action: 'resolve', of: 'phase', resolution: { outcome: 'executed', result: 1 } },
  rejected: {
    action: 'resolve',
    of: 'phase',
    resolution: { outcome: 'rejected', error: new BadRequestException() },
  },
  'not executed': { action: 'resolve', of: 'phase', resolution: { outcome: 'not_executed' } },
  completed: {
    action: 'resolve',
    of: 'key',
    resolution: { outcome: 'completed', answer: { status: 201 } },
  },
  retryable: { action: 'resolve', of: 'key', resolution: { outcome: 'retryable' } },
  retry: { action: 'retry' },
  expire: { action: 'expire' },
  evict: { action: 'evict' },
  hold: { action: 'hold' },
  'release the hold': { action: 'release_hold' },
};

const METHODS = {
  retry: 'retry',
  expire: 'expire',
  evict: 'evict',
  hold: 'hold',
  release_hold: 'releaseHold',
} as const;

forEachPlatform(
  'Previews',
  (platform) => {
    describe('What a preview says', () => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, { logger: false });
      });
      afterAll(() => app.close());

      const cases = (Object.keys(STATES) as StateName[]).flatMap((state) =>
        Object.entries(DECISIONS).map(([name, decision]) => [state, name, decision] as const),
      );

      it.each(cases)('comes true: a key that is %s, and %s', async (state, _, decision) => {
        const operator = operatorOf(app);
        const { id, effectKey } = await insertKey(app.database, state);
        const report = (await operator.inspect(id))!;
        const phase = phaseOf(report, effectKey);
        const prediction = predict(report, decision, phase);
        const change =
          decision.action !== 'resolve'
            ? await operator[METHODS[decision.action]](id, 'ada')
            : decision.of === 'key'
              ? await operator.resolveKey(id, decision.resolution, 'ada')
              : await operator.resolve(effectKey, decision.resolution, 'ada');

        // An attempt that died a moment ago is the sweeper's: the page waits, and evidence of machines need not.
        if (state === 'lapsed' && decision.action !== 'hold') {
          expect(prediction.possible).toBe(false);
        } else expect(prediction.possible).toBe(change.changed);
        if (!prediction.possible || !change.changed) return;
        expect(prediction.after).toBe(change.after?.status ?? null);
        expect(prediction.next.join(' ')).not.toBe('');
      });
    });
  },
  // It is about rows, not about requests.
  ['express'],
);
