import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Change, IdempotencyOperator } from 'nestjs-atomic-idempotency';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey, wholeKey } from './key-states.js';

type Call = (operator: IdempotencyOperator, id: string, effectKey: string) => Promise<Change>;

/** What a webhook's body or a script may hold instead of what is meant. */
const anything = (value: unknown) => value as never;
const notExecuted = { outcome: 'not_executed' } as const;

const CALLS: [string, Call, RegExp][] = [
  ['an effect key that is none', (o) => o.resolve('ch_1', notExecuted, 'a'), /not an effect key/],
  ['no effect key', (o) => o.resolve(anything(undefined), notExecuted, 'a'), /not an effect key/],
  ['no outcome', (o, _, e) => o.resolve(e, anything(undefined), 'a'), /Use \{ outcome/],
  [
    'a strange outcome',
    (o, _, e) => o.resolve(e, anything({ outcome: 'paid' }), 'a'),
    /Use \{ outcome/,
  ],
  [
    'an unknown outcome',
    (o, _, e) => o.resolve(e, anything({ outcome: 'unknown' }), 'a'),
    /Use \{ outcome/,
  ],
  [
    'a rejection without an exception',
    (o, _, e) => o.resolve(e, anything({ outcome: 'rejected', error: 'no' }), 'a'),
    /HttpException/,
  ],
  [
    'a result that is not JSON',
    (o, _, e) => o.resolve(e, { outcome: 'executed', result: 1n }, 'a'),
    /The result of phase "charge_created" cannot be stored as JSON/,
  ],
  ['nobody', (o, _, e) => o.resolve(e, notExecuted, ''), /who decides/],
  ['nobody again', (o, id) => o.retry(id, anything(undefined)), /who decides/],
  ['a blank name', (o, id) => o.evict(id, { who: '  ' }), /who decides/],
  ['no resolution', (o, id) => o.resolveKey(id, anything(null), 'a'), /Use \{ outcome/],
  [
    'an answer without a status',
    (o, id) => o.resolveKey(id, { outcome: 'completed', answer: anything({}) }, 'a'),
    /status is undefined/,
  ],
  [
    'an informational status',
    (o, id) => o.resolveKey(id, { outcome: 'completed', answer: { status: 101 } }, 'a'),
    /status is 101/,
  ],
  [
    'a body that is not JSON',
    (o, id) =>
      o.resolveKey(id, { outcome: 'completed', answer: { status: 201, body: () => 1 } }, 'a'),
    /body is a function/,
  ],
  [
    'a header that cannot be sent',
    (o, id) =>
      o.resolveKey(
        id,
        { outcome: 'completed', answer: { status: 201, headers: { 'x-a': 'b\nc' } } },
        'a',
      ),
    /x-a/,
  ],
];

const MISSING: [string, Call][] = [
  ['resolve', (o) => o.resolve(randomUUID(), notExecuted, 'a')],
  ['resolveKey', (o) => o.resolveKey('999999', { outcome: 'retryable' }, 'a')],
  ['retry', (o) => o.retry('not a number', 'a')],
  ['evict', (o) => o.evict('', 'a')],
  ['expire', (o) => o.expire(anything(undefined), 'a')],
];

forEachPlatform('Calls of the operator', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { logger: false });
  });
  afterAll(() => app.close());

  describe('with', () => {
    it.each(CALLS)('%s change nothing and are reported', async (_, call, detail) => {
      const { id, effectKey } = await insertKey(app.database, 'unknown, in doubt');
      const before = await wholeKey(app.database, id);
      expect(await call(operatorOf(app), id, effectKey)).toEqual({
        changed: false,
        reason: 'invalid',
        detail: expect.stringMatching(detail),
      });
      expect(await wholeKey(app.database, id)).toEqual(before);
    });
  });

  it.each(MISSING)('are reported for what does not exist: %s', async (_, call) => {
    expect(await call(operatorOf(app), '', '')).toMatchObject({
      changed: false,
      reason: 'not_found',
    });
  });
});
