import { describe, expect, it } from '@jest/globals';
import { whyNotResumable } from '../../lib/keys/decision.js';
import type { PhaseRecord } from '../../lib/schema/phase-record.js';

function phase(fields: Partial<PhaseRecord>): PhaseRecord {
  return {
    name: 'charge',
    position: 1,
    kind: 'foreign',
    state: 'finished',
    effectKey: null,
    inDoubt: 'stop',
    keyForgotten: false,
    startedAt: new Date(0),
    request: undefined,
    result: undefined,
    ...fields,
  };
}

const local = phase({ name: 'ride', kind: 'local', inDoubt: null });
const intended = (fields: Partial<PhaseRecord>) => [local, phase({ state: 'intended', ...fields })];

describe('A key without a running attempt', () => {
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
      'a call that was found out about',
      [phase({ state: 'reconciled' })],
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
  ])('and with %s runs again only if that is safe', (_, phases, expected) => {
    const lapsed = { status: 'in_progress', operation: null } as const;
    const failed = { status: 'failed_retryable', operation: null } as const;
    expect({
      abandoned: whyNotResumable(lapsed, phases, { onAbandoned: 'unknown' }),
      resume: whyNotResumable(lapsed, phases, { onAbandoned: 'resume' }),
      failed: whyNotResumable(failed, phases, { onAbandoned: 'unknown' }),
    }).toEqual(expected);
  });

  it('and with an operation on record runs again before its first phase, unless a call is in doubt', () => {
    const lapsed = { status: 'in_progress', operation: 'rides.create' } as const;
    const policy = { onAbandoned: 'unknown' } as const;
    expect(whyNotResumable(lapsed, [], policy)).toBeUndefined();
    expect(whyNotResumable(lapsed, intended({ inDoubt: 'stop' }), policy)).toBe('in_doubt');
  });
});
