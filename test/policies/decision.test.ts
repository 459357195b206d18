import { describe, expect, it } from '@jest/globals';
import { decide, whyNotResumable, type Step } from '../../lib/keys/decision.js';
import type { FoundKey } from '../../lib/keys/key-store.js';
import { KEY_STATUSES, type KeyStatus } from '../../lib/keys/key-status.js';
import type { PhaseRecord } from '../../lib/phases/phase-record.js';

const MINE = Buffer.from('mine');
const OTHER = Buffer.from('other');
const EXPIRES = new Date(0);
const ANSWER = { status: 201, headers: {}, body: Buffer.from('{}') };

function keyOf(status: KeyStatus, fields: Partial<FoundKey> = {}): FoundKey {
  return {
    id: '1',
    fingerprint: MINE,
    status,
    recoveryPoint: 'started',
    owner: 'somebody',
    attempt: 1,
    lockedUntil: '0',
    lapsed: false,
    pastRetention: false,
    runningFor: 7,
    reconcileIn: 9,
    expiresAt: EXPIRES,
    responseStatus: 201,
    answer: ANSWER,
    ...fields,
  };
}

type Policy = Parameters<typeof decide>[2];
const DEFAULT: Policy = { onExpired: 'forget', onMismatch: 'reject' };
const GONE: Policy = { ...DEFAULT, onExpired: 'gone' };
const LENIENT: Policy = { ...DEFAULT, onMismatch: 'replay' };
const POLICIES = [DEFAULT, GONE, LENIENT, { ...GONE, ...LENIENT, onExpired: 'gone' as const }];

const step = (key: FoundKey, policy = DEFAULT, fingerprint = MINE): Step =>
  decide(key, { fingerprint, owner: 'me' }, policy);

describe('A found key', () => {
  it.each<[string, FoundKey, Policy, Step]>([
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
  ])('that is %s leads the same request to its step', (_, key, policy, expected) => {
    expect(step(key, policy)).toEqual(expected);
  });

  const everyKey = KEY_STATUSES.flatMap((status) =>
    [true, false].flatMap((lapsed) =>
      [true, false].map((pastRetention) => keyOf(status, { lapsed, pastRetention })),
    ),
  );

  it('leads another request to a refusal, unless it is forgotten or replays to everybody', () => {
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

  it('is recognised by the attempt that reserved it, whatever its lease says', () => {
    for (const lapsed of [true, false]) {
      const key = keyOf('in_progress', { owner: 'me', lapsed });
      expect(step(key)).toEqual({ kind: 'ours' });
    }
    // An attempt of mine that has ended is no longer mine to run.
    expect(step(keyOf('completed', { owner: 'me' })).kind).toBe('replay');
  });
});

function phase(fields: Partial<PhaseRecord>): PhaseRecord {
  return {
    name: 'charge',
    position: 1,
    kind: 'foreign',
    state: 'finished',
    effectKey: null,
    inDoubt: 'stop',
    keyForgotten: false,
    startedAt: EXPIRES,
    request: undefined,
    result: undefined,
    ...fields,
  };
}

const local = phase({ name: 'ride', kind: 'local', inDoubt: null });
const intended = (fields: Partial<PhaseRecord>) => [local, phase({ state: 'intended', ...fields })];

describe('A key that nobody runs', () => {
  const YES = undefined;
  it.each<[string, PhaseRecord[], Record<'abandoned' | 'resume' | 'failed', string | undefined>]>([
    ['no phase', [], { abandoned: 'abandoned', resume: YES, failed: YES }],
    ['a finished phase', [local], { abandoned: YES, resume: YES, failed: YES }],
    [
      'a rejected call',
      [phase({ state: 'rejected' })],
      { abandoned: YES, resume: YES, failed: YES },
    ],
    [
      'a withdrawn intent',
      [phase({ state: 'withdrawn' })],
      { abandoned: YES, resume: YES, failed: YES },
    ],
    [
      'a doubt to stop at',
      intended({ inDoubt: 'stop' }),
      { abandoned: 'in_doubt', resume: 'in_doubt', failed: 'in_doubt' },
    ],
    [
      'a repeatable doubt',
      intended({ inDoubt: 'repeat' }),
      { abandoned: YES, resume: YES, failed: YES },
    ],
    [
      'a doubt whose effect key is forgotten',
      intended({ inDoubt: 'repeat', keyForgotten: true }),
      {
        abandoned: 'effect_key_forgotten',
        resume: 'effect_key_forgotten',
        failed: 'effect_key_forgotten',
      },
    ],
    [
      'a doubt to reconcile',
      intended({ inDoubt: 'reconcile' }),
      { abandoned: YES, resume: YES, failed: YES },
    ],
  ])('and has %s runs again only if that is safe', (_, phases, expected) => {
    const lapsed = { status: 'in_progress' } as const;
    expect({
      abandoned: whyNotResumable(lapsed, phases, { onAbandoned: 'unknown' }),
      resume: whyNotResumable(lapsed, phases, { onAbandoned: 'resume' }),
      failed: whyNotResumable({ status: 'failed_retryable' }, phases, { onAbandoned: 'unknown' }),
    }).toEqual(expected);
  });
});
