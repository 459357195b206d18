import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Attempt } from '../../lib/keys/attempt.js';
import type { Reservation } from '../../lib/keys/reservation.js';
import { PhaseBatches } from '../../lib/phases/phase-batches.js';
import { PhaseStore, type Intent, type EndedPhase } from '../../lib/phases/phase-store.js';
import { reservationOf } from '../support/key-store.js';
import { useKeyStore } from '../support/use-key-store.js';

// Intents of some requests and outcomes of others are in one statement. Each is
// fenced by its own key: what one of them lost concerns nobody else.
const { database, keys } = useKeyStore();
let phases: PhaseStore;
beforeAll(() => {
  phases = new PhaseStore(keys.statements);
});

async function begin(): Promise<Attempt> {
  const reservation = reservationOf(randomUUID());
  const [reserved] = await keys.store.reserve([reservation]);
  if (reserved?.kind !== 'reserved') throw new Error('The key was taken.');
  return attemptAt(reservation, reserved.id, 1);
}

function attemptAt(reservation: Reservation, id: string, number: number): Attempt {
  return new Attempt(reservation, {} as never, {
    id,
    number,
    recoveryPoint: 'started',
    resumeAttempts: 0,
    recorded: [],
  });
}

const intentOf = (attempt: Attempt): Intent => ({
  attempt,
  name: 'charged',
  position: 1,
  kind: 'foreign',
  state: 'intended',
  effectKey: randomUUID(),
  inDoubt: 'stop',
  keyValidFor: null,
  request: '{"amount":1}',
});

const endingOf = (attempt: Attempt): EndedPhase => ({
  attempt,
  name: 'charged',
  position: 1,
  kind: 'foreign',
  state: 'finished',
  result: '{"paid":true}',
});

const stateOf = async ({ id }: Attempt): Promise<unknown> =>
  (
    await database.query(
      `SELECT p.state, p.result, k.recovery_point AS "recoveryPoint"
       FROM idempotency_keys k LEFT JOIN idempotency_phases p ON p.scope = k.scope AND p.key_id = k.id WHERE k.id = $1`,
      [id],
    )
  )[0];

const INTENDED = { state: 'intended', result: null, recoveryPoint: 'started' };
const FINISHED = { state: 'finished', result: { paid: true }, recoveryPoint: 'charged' };

describe('Batched phases', () => {
  it('record intents and outcomes in one statement', async () => {
    const [ending, beginning] = [await begin(), await begin()];
    await phases.record([intentOf(ending)]);
    const [begun, ended] = await phases.record([intentOf(beginning), endingOf(ending)]);
    expect(begun!.startedAt).toBeInstanceOf(Date);
    expect(ended).toBeDefined();
    expect(await stateOf(beginning)).toEqual(INTENDED);
    expect(await stateOf(ending)).toEqual(FINISHED);
  });

  it('are not affected by a lost lease among them, which writes nothing', async () => {
    const ends = await begin();
    const endsTooLate = await begin();
    const begins = await begin();
    const beginsTooLate = await begin();
    await phases.record([intentOf(ends), intentOf(endsTooLate)]);
    await database.query('UPDATE idempotency_keys SET owner = $1 WHERE id = ANY($2)', [
      randomUUID(),
      [endsTooLate.id, beginsTooLate.id],
    ]);

    const recorded = await phases.record([
      intentOf(beginsTooLate),
      intentOf(begins),
      endingOf(endsTooLate),
      endingOf(ends),
    ]);
    expect(recorded.map((entry) => entry !== undefined)).toEqual([false, true, false, true]);
    expect(await stateOf(ends)).toEqual(FINISHED);
    expect(await stateOf(begins)).toEqual(INTENDED);
    expect(await stateOf(endsTooLate)).toEqual(INTENDED);
    expect(await stateOf(beginsTooLate)).toMatchObject({ state: null, recoveryPoint: 'started' });
  });

  it('distinguish an attempt from its successor in the same statement', async () => {
    const first = await begin();
    const owner = randomUUID();
    await database.query('UPDATE idempotency_keys SET owner = $1, attempt = 2 WHERE id = $2', [
      owner,
      first.id,
    ]);
    const second = attemptAt(reservationOf(first.key, { owner }), first.id, 2);
    const recorded = await phases.record([intentOf(first), intentOf(second)]);
    expect(recorded).toEqual([undefined, { startedAt: expect.any(Date) }]);
  });

  it('change nothing that has a final outcome', async () => {
    const attempt = await begin();
    await phases.record([intentOf(attempt)]);
    await phases.record([endingOf(attempt)]);
    expect(await phases.record([intentOf(attempt)])).toEqual([undefined]);
    expect(await phases.record([{ ...endingOf(attempt), state: 'rejected' }])).toEqual([undefined]);
    expect(await stateOf(attempt)).toEqual(FINISHED);
  });

  it('give each caller its own result', async () => {
    const attempts = await Promise.all(Array.from({ length: 20 }, begin));
    const batches = new PhaseBatches(phases, 10_000);
    const half = attempts.slice(0, 10);
    await Promise.all(half.map((attempt) => batches.record(intentOf(attempt))));
    const lost = half[3]!;
    await database.query('UPDATE idempotency_keys SET owner = $1 WHERE id = $2', [
      randomUUID(),
      lost.id,
    ]);
    const results = await Promise.all(
      attempts.map((attempt, index) =>
        batches.record(index < 10 ? endingOf(attempt) : intentOf(attempt)),
      ),
    );
    for (const [index, result] of results.entries()) {
      const attempt = attempts[index]!;
      const expected = { startedAt: index < 10 ? null : expect.any(Date) };
      if (attempt === lost) expect(result).toBeUndefined();
      else expect(result).toMatchObject(expected);
    }
  });
});
