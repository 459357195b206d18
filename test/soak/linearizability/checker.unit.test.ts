import { describe, expect, it } from '@jest/globals';
import type { Policy } from '../../protocol/vocabulary.js';
import { check } from './checker.js';
import { NEVER, type Operation, type Told } from './history.js';
import { Specification } from './specification.js';

const specifications = new Map<string, Specification>();

function verdict(
  history: Operation[],
  inDoubt: Policy['inDoubt'] = 'repeat',
  onAbandoned: Policy['onAbandoned'] = 'resume',
): string {
  const name = `${inDoubt} ${onAbandoned}`;
  const specification = specifications.get(name) ?? new Specification({ inDoubt, onAbandoned });
  specifications.set(name, specification);
  return check(specification, history).kind;
}

/** From when to when, and what its client was told. */
function op(invoked: number, returned: number, told: Told): Operation {
  return { invoked, returned, told };
}

const left = (invoked: number) => op(invoked, NEVER, { kind: 'nothing' });
const first = (bytes = 'a', status: 201 | 402 = 201): Told => ({
  kind: 'final',
  status,
  bytes,
  replayed: false,
});
const replay = (bytes = 'a', status: 201 | 402 = 201): Told => ({
  kind: 'final',
  status,
  bytes,
  replayed: true,
});
const inProgress: Told = { kind: 'in_progress' };
const unknown: Told = { kind: 'unknown' };
const failed: Told = { kind: 'failed' };
const leaseLost: Told = { kind: 'lease_lost' };

describe('The checker of histories accepts', () => {
  it.each<[string, Operation[], Policy['inDoubt']?]>([
    ['no request at all', []],
    ['a run and its replays', [op(1, 2, first()), op(3, 4, replay()), op(5, 6, replay())]],
    [
      'a duplicate that came too early',
      [op(1, 9, first()), op(2, 3, inProgress), op(10, 11, replay())],
    ],
    ['a duplicate that began first and lost', [op(1, 5, inProgress), op(2, 9, first())]],
    ['a replay for a duplicate that waited', [op(1, 9, first()), op(2, 10, replay())]],
    ['a replay of what a client left', [left(1), op(2, 3, inProgress), op(4, 5, replay())]],
    ['a run after one that never took effect', [left(1), op(2, 3, first())]],
    ['failures, then an end', [op(1, 2, failed), op(3, 4, failed), op(5, 6, first())]],
    [
      'a takeover while the first one stalls',
      [op(1, 20, leaseLost), op(5, 8, first()), op(9, 10, replay())],
    ],
    ['a failure that left its lease', [op(1, 2, failed), op(3, 4, inProgress), op(5, 6, first())]],
    ['a card that is declined', [op(1, 2, first('b', 402)), op(3, 4, replay('b', 402))]],
    [
      'an unknown outcome that was resolved',
      [op(1, 2, unknown), op(3, 4, unknown), op(5, 6, first())],
      'stop',
    ],
    [
      'an unknown outcome after a crash in the call',
      [left(1), op(2, 3, unknown), op(4, 5, first())],
      'stop',
    ],
    [
      'ten clients that left, and one that did not',
      [...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(left), op(11, 12, first())],
    ],
  ])('%s', (_, history, inDoubt = 'repeat') => {
    expect(verdict(history, inDoubt)).toBe('linearizable');
  });
});

describe('The checker of histories refuses', () => {
  it.each<[string, Operation[], Policy['inDoubt']?]>([
    ['a double run', [op(1, 2, first('a')), op(3, 4, first('a'))]],
    ['a double run of two at once', [op(1, 5, first('a')), op(2, 6, first('b'))]],
    ['a double run behind a takeover', [op(1, 20, first('a')), op(5, 8, first('b'))]],
    ['a changed replay', [op(1, 2, first('a')), op(3, 4, replay('b'))]],
    ['a replay with another status', [op(1, 2, first('a')), op(3, 4, replay('a', 402))]],
    ['two replays that differ', [left(1), op(2, 3, replay('a')), op(4, 5, replay('b'))]],
    ['a replay before anything ran', [op(1, 2, replay()), op(3, 4, first())]],
    ['a replay of nothing', [op(1, 2, replay())]],
    ['"in progress" before anything ran', [op(1, 2, inProgress), op(3, 4, first())]],
    ['"in progress" after the end', [op(1, 2, first()), op(3, 4, inProgress)]],
    ['"unknown" after the end', [op(1, 2, first()), op(3, 4, unknown)]],
    ['a failure after the end', [op(1, 2, first()), op(3, 4, failed)]],
    ['a lost lease that nobody took', [op(1, 2, leaseLost), op(3, 4, replay())]],
    ['"unknown" where the call may be repeated', [left(1), op(2, 3, unknown)], 'repeat'],
  ])('%s', (_, history, inDoubt = 'repeat') => {
    expect(verdict(history, inDoubt)).toBe('refused');
  });

  it('a plain handler that died and is run again, unless somebody resolved it', () => {
    const rerun = [op(1, 2, failed), op(3, 4, unknown), op(5, 6, inProgress)];
    expect(verdict(rerun, 'repeat', 'unknown')).toBe('refused');
    const resolved = [op(1, 2, failed), op(3, 4, unknown), op(5, 8, first()), op(6, 7, inProgress)];
    expect(verdict(resolved, 'repeat', 'unknown')).toBe('linearizable');
  });

  it('and tells what it could explain', () => {
    const history = [op(1, 2, first('a')), op(3, 4, replay('a')), op(5, 6, replay('b'))];
    const specification = new Specification({ inDoubt: 'repeat', onAbandoned: 'resume' });
    expect(check(specification, history)).toEqual({
      kind: 'refused',
      explained: history.slice(0, 2),
    });
  });
});
