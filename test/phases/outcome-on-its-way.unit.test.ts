import { describe, expect, it } from '@jest/globals';
import { OutcomeOnItsWay } from '../../lib/phases/outcome-on-its-way.js';
import type { EndedPhase, RecordedEntry } from '../../lib/phases/phase-store.js';

const cipher = { json: (text: string | undefined) => text ?? null };
const ended = {
  attempt: { id: '1', cipher },
  name: 'charged',
  result: '1',
} as unknown as EndedPhase;

/** Its own statement waits behind others, and is sent when the test says so. */
function waiting() {
  const outcome = new OutcomeOnItsWay('charged');
  let send!: (recorded: RecordedEntry | undefined) => void;
  let fail!: (error: Error) => void;
  const statement = new Promise<RecordedEntry | undefined>((resolve, reject) => {
    send = resolve;
    fail = reject;
  });
  return { outcome, send, fail, recorded: outcome.wait(ended, statement) };
}

const RECORDED = { startedAt: null };

describe('An outcome that was taken along', () => {
  it('is recorded as soon as the other statement is, however long its own one waits', async () => {
    const { outcome, recorded } = waiting();
    expect(outcome.take()).toEqual({ name: 'charged', result: '1' });
    outcome.taken(true);
    expect(await recorded).toEqual(RECORDED);
    expect(outcome.leave()).toBe(false);
  });

  it('does not fail with its own statement, which has others in it', async () => {
    const { outcome, recorded, fail } = waiting();
    outcome.take();
    fail(new Error('of another request'));
    await new Promise(setImmediate);
    outcome.taken(true);
    expect(await recorded).toEqual(RECORDED);
  });

  it('has lost its lease if the other statement found none', async () => {
    const { outcome, recorded, send } = waiting();
    outcome.take();
    send(undefined);
    outcome.taken(false);
    expect(await recorded).toBeUndefined();
  });

  it('is tried again if the other statement failed, before or after its own one would have left', async () => {
    for (const leavesFirst of [true, false]) {
      const { outcome, recorded, send } = waiting();
      outcome.take();
      if (leavesFirst) send(undefined);
      outcome.giveBack(new Error('lost'));
      await expect(recorded).rejects.toThrow('could not be recorded with the last phase');
    }
  });

  it('cannot be taken twice, nor once its own statement has left', () => {
    const twice = waiting().outcome;
    twice.take();
    expect(twice.take()).toBeUndefined();
    const left = waiting().outcome;
    expect(left.leave()).toBe(true);
    expect(left.take()).toBeUndefined();
  });
});
