import { describe, expect, it } from '@jest/globals';
import { PLAIN } from '../../lib/encryption/plain-cipher.js';
import { decide } from '../../lib/keys/decision.js';
import type { FoundKey } from '../../lib/keys/found-key.js';
import { KEY_STATUSES, type KeyStatus } from '../../lib/schema/key-status.js';

const MINE = Buffer.alloc(32, 'mine');
const OTHER = Buffer.alloc(32, 'other');
const EXPIRES = new Date(0);
const ANSWER = { status: 201, headers: {}, body: Buffer.from('{}') };

function keyOf(status: KeyStatus, fields: Partial<FoundKey> = {}): FoundKey {
  return {
    id: '1',
    scope: 'ada',
    endpoint: '',
    key: 'k',
    fingerprint: MINE,
    status,
    recoveryPoint: 'started',
    owner: 'somebody',
    attempt: 1,
    lockedUntil: '0',
    lapsed: false,
    pastRetention: false,
    expiresIn: 1_000,
    runningFor: 7,
    reconcileIn: 9,
    traceparent: null,
    resumeIn: null,
    resumeAttempts: 0,
    operation: null,
    expiresAt: EXPIRES,
    responseStatus: 201,
    answer: ANSWER,
    ...fields,
  };
}

type Policy = Parameters<typeof decide>[2];
const DEFAULT: Policy = { onExpired: 'forget', onMismatch: 'reject', run: 'request' };
const BACKGROUND: Policy = { ...DEFAULT, run: 'background' };
const GONE: Policy = { ...DEFAULT, onExpired: 'gone' };
const LENIENT: Policy = { ...DEFAULT, onMismatch: 'replay' };
const POLICIES = [DEFAULT, GONE, LENIENT, { ...GONE, ...LENIENT, onExpired: 'gone' as const }];

const step = (key: FoundKey, policy = DEFAULT, fingerprint = MINE) =>
  decide(key, { fingerprint, owner: 'me', cipher: PLAIN }, policy);

describe('The decision about a found key', () => {
  it.each<[string, FoundKey, Policy, ReturnType<typeof decide>]>([
    ['pending', keyOf('pending'), DEFAULT, { kind: 'pending', runningFor: 7 }],
    ['running', keyOf('in_progress'), DEFAULT, { kind: 'running', runningFor: 7 }],
    ['lapsed', keyOf('in_progress', { lapsed: true }), DEFAULT, { kind: 'resume' }],
    [
      'running, past retention',
      keyOf('in_progress', { pastRetention: true }),
      GONE,
      { kind: 'running', runningFor: 7 },
    ],
    ['failed', keyOf('failed_retryable'), DEFAULT, { kind: 'resume' }],
    [
      'failed, past retention',
      keyOf('failed_retryable', { pastRetention: true }),
      GONE,
      { kind: 'resume' },
    ],
    ['performed', keyOf('performed'), DEFAULT, { kind: 'resume' }],
    ['performed in the background', keyOf('performed'), BACKGROUND, { kind: 'resume' }],
    [
      'failed, with an operation, in a request',
      keyOf('failed_retryable', { operation: 'ride', resumeIn: 3 }),
      DEFAULT,
      { kind: 'resume' },
    ],
    [
      'failed, and tried again by a worker soon',
      keyOf('failed_retryable', { operation: 'ride', resumeIn: 3 }),
      BACKGROUND,
      { kind: 'pending', runningFor: 7 },
    ],
    [
      'failed, and given up by workers',
      keyOf('failed_retryable', { operation: 'ride' }),
      BACKGROUND,
      { kind: 'givenUp' },
    ],
    [
      'failed before it was left to a worker',
      keyOf('failed_retryable'),
      BACKGROUND,
      { kind: 'resume' },
    ],
    [
      'completed',
      keyOf('completed'),
      DEFAULT,
      { kind: 'replay', answer: ANSWER, expiresAt: EXPIRES },
    ],
    [
      'completed without an answer',
      keyOf('completed', { answer: undefined }),
      DEFAULT,
      { kind: 'unavailable', status: 201 },
    ],
    ['past retention', keyOf('completed', { pastRetention: true }), DEFAULT, { kind: 'forget' }],
    ['past retention', keyOf('completed', { pastRetention: true }), GONE, { kind: 'gone' }],
    ['unknown', keyOf('unknown'), DEFAULT, { kind: 'unknown', reconcileIn: 9 }],
    [
      'unknown, past retention',
      keyOf('unknown', { pastRetention: true }),
      DEFAULT,
      { kind: 'unknown', reconcileIn: 9 },
    ],
    ['expired', keyOf('expired'), DEFAULT, { kind: 'gone' }],
  ])('that is %s, for the same request', (_, key, policy, expected) => {
    expect(step(key, policy)).toEqual(expected);
  });

  const everyKey = KEY_STATUSES.flatMap((status) =>
    [true, false].flatMap((lapsed) =>
      [true, false].map((pastRetention) => keyOf(status, { lapsed, pastRetention })),
    ),
  );

  it('is a refusal for another request, unless the key is forgotten or onMismatch is replay', () => {
    for (const policy of POLICIES) {
      for (const key of everyKey) {
        const { status, pastRetention } = key;
        const finished = status === 'completed';
        let expected = 'mismatch';
        if (finished && policy.onMismatch === 'replay') expected = 'replay';
        if (finished && pastRetention) expected = policy.onExpired === 'gone' ? 'gone' : 'forget';
        if (status === 'expired') expected = 'gone';
        expect({ key, policy, kind: step(key, policy, OTHER).kind }).toEqual({
          key,
          policy,
          kind: expected,
        });
      }
    }
  });

  it('recognises the attempt that reserved the key, whatever its lease says', () => {
    for (const lapsed of [true, false]) {
      const key = keyOf('in_progress', { owner: 'me', lapsed });
      expect(step(key)).toEqual({ kind: 'ours' });
    }
    // An attempt of mine that has ended is no longer mine to run.
    expect(step(keyOf('completed', { owner: 'me' })).kind).toBe('replay');
  });
});
