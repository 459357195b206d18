import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Change, IdempotencyOperator, Refusal } from 'nestjs-atomic-idempotency';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { auditOf, operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey, STATES, wholeKey, type StateName } from './key-states.js';

interface Target {
  id: string;
  effectKey: string;
}

const BY = { who: 'ada', why: 'ticket 7' };

/** Every decision that an operator can take. */
const DECISIONS = {
  'resolve executed': (o: IdempotencyOperator, { effectKey }: Target) =>
    o.resolve(effectKey, { outcome: 'executed', result: { id: 'ch_1' } }, BY),
  'resolve rejected': (o: IdempotencyOperator, { effectKey }: Target) =>
    o.resolve(effectKey, { outcome: 'rejected', error: new HttpException('no', 402) }, BY),
  'resolve not executed': (o: IdempotencyOperator, { effectKey }: Target) =>
    o.resolve(effectKey, { outcome: 'not_executed' }, BY),
  'resolve key completed': (o: IdempotencyOperator, { id }: Target) =>
    o.resolveKey(id, { outcome: 'completed', answer: { status: 201, body: { id: 7 } } }, BY),
  'resolve key retryable': (o: IdempotencyOperator, { id }: Target) =>
    o.resolveKey(id, { outcome: 'retryable' }, BY),
  retry: (o: IdempotencyOperator, { id }: Target) => o.retry(id, BY),
  evict: (o: IdempotencyOperator, { id }: Target) => o.evict(id, BY),
  expire: (o: IdempotencyOperator, { id }: Target) => o.expire(id, BY),
} satisfies Record<string, (operator: IdempotencyOperator, target: Target) => Promise<Change>>;

type DecisionName = keyof typeof DECISIONS;
type Row = [
  state: StateName,
  executed: string,
  rejected: string,
  notExecuted: string,
  completed: string,
  retryable: string,
  retry: string,
  evict: string,
  expire: string,
];

/**
 * What each decision makes of a key in each state: `→ status`, or why it is
 * refused. Whatever is not an arrow of the life of a key is refused here.
 */
// prettier-ignore
const TABLE: Row[] = [
  // state                        executed             rejected             not executed         completed      retryable            retry                evict           expire
  ['pending',                    'not_found',         'not_found',         'not_found',         'not_unknown', 'not_unknown',       '→ pending',          'not_finished', '→ completed'],
  ['running',                    'running',           'running',           'running',           'running',     'running',           'running',           'running',      'running'],
  ['lapsed',                     '→ failed_retryable', '→ failed_retryable', '→ failed_retryable', 'lapsed',      'lapsed',            'lapsed',            'lapsed',       'lapsed'],
  ['completed',                  'not_in_doubt',      'not_in_doubt',      'not_in_doubt',      'not_unknown', 'not_unknown',       'finished',          '→ gone',        '→ expired'],
  ['failed',                     '→ failed_retryable', '→ failed_retryable', 'not_in_doubt',      'not_unknown', 'not_unknown',       'no_operation',      'not_finished', '→ completed'],
  ['failed, with an operation',  'not_in_doubt',      'not_in_doubt',      'not_in_doubt',      'not_unknown', 'not_unknown',       '→ failed_retryable', 'not_finished', '→ completed'],
  ['performed',                  'not_in_doubt',      'not_in_doubt',      'not_in_doubt',      'not_unknown', 'not_unknown',       'finished',          '→ gone',        '→ expired'],
  ['failed, in doubt',           '→ failed_retryable', '→ failed_retryable', '→ failed_retryable', 'not_unknown', 'not_unknown',       'no_operation',      'not_finished', 'in_doubt'],
  ['failed, reconciled',         'not_in_doubt',      'not_in_doubt',      'not_in_doubt',      'not_unknown', 'not_unknown',       'no_operation',      'not_finished', '→ completed'],
  ['unknown, in doubt',          '→ failed_retryable', '→ failed_retryable', '→ failed_retryable', 'in_doubt',    'in_doubt',          '→ unknown',          'unknown',      'unknown'],
  ['unknown, no phase',          'not_found',         'not_found',         'not_found',         '→ completed',  '→ failed_retryable', 'nothing_to_ask',    'unknown',      'unknown'],
  ['unknown, phase withdrawn',   'not_in_doubt',      'not_in_doubt',      'not_in_doubt',      '→ completed',  '→ failed_retryable', 'nothing_to_ask',    'unknown',      'unknown'],
  ['expired',                    'not_found',         'not_found',         'not_found',         'not_unknown', 'not_unknown',       'finished',          '→ gone',        'expired'],
];

const NAMES = Object.keys(DECISIONS) as DecisionName[];
const CASES = TABLE.flatMap(([state, ...cells]) =>
  cells.map((expected, at) => [NAMES[at]!, state, expected] as const),
);

describe('The table of decisions', () => {
  it('has every state and every decision', () => {
    expect(TABLE.map(([state]) => state)).toEqual(Object.keys(STATES));
    expect(CASES).toHaveLength(TABLE.length * NAMES.length);
  });
});

forEachPlatform('Decisions of an operator', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { logger: false });
  });
  afterAll(() => app.close());

  describe('A decision', () => {
    it.each(CASES)('%s on a key that is %s: %s', async (name, state, expected) => {
      const target = await insertKey(app.database, state);
      const before = await wholeKey(app.database, target.id);
      const change = await DECISIONS[name](operatorOf(app), target);

      if (!expected.startsWith('→')) {
        expect(change).toEqual({
          changed: false,
          reason: expected as Refusal,
          detail: expect.stringMatching(/\.$/),
        });
        expect(await wholeKey(app.database, target.id)).toEqual(before);
        expect(await auditOf(app.database, target.key)).toEqual([]);
        return;
      }
      const status = expected.slice(2);
      const after = status === 'gone' ? null : expect.objectContaining({ status });
      expect(change).toEqual({
        changed: true,
        id: target.id,
        before: expect.objectContaining({ status: STATES[state].status }),
        after,
      });
      if (status === 'gone') expect(await wholeKey(app.database, target.id)).toBeUndefined();
      else expect(await keyRow(app.database, target.key)).toMatchObject({ status });
      expect(await auditOf(app.database, target.key)).toMatchObject([
        { key_id: target.id, who: 'ada', why: 'ticket 7', before: change.changed && change.before },
      ]);
    });

    it.each(CASES.filter(([, , expected]) => expected.startsWith('→')))(
      '%s, made twice on a key that is %s, changes nothing further',
      async (name, state) => {
        const target = await insertKey(app.database, state);
        const decide = () => DECISIONS[name](operatorOf(app), target);
        const changes = await Promise.all([decide(), decide(), decide()]);
        const taken = changes.filter(({ changed }) => changed).length;
        // Asking the jobs to try again can be said any number of times.
        if (name === 'retry') expect(taken).toBeGreaterThanOrEqual(1);
        else expect(taken).toBe(1);
        expect(await auditOf(app.database, target.key)).toHaveLength(taken);
      },
    );
  });
});
