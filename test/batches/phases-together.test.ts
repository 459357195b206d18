import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Attempt } from '../../lib/keys/attempt.js';
import { Database } from '../../lib/keys/database.js';
import { KeyStore } from '../../lib/keys/key-store.js';
import { PhaseBatches } from '../../lib/phases/phase-batches.js';
import { PhaseStore, type Intent, type PhaseEnding } from '../../lib/phases/phase-store.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { reservationOf } from '../support/key-store.js';

// Intents of some requests and ends of others travel in one statement. Each is
// fenced by its own key: what one of them lost concerns nobody else.
let database: TestDatabase;
let dataSource: DataSource;
let keys: KeyStore;
let phases: PhaseStore;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = new DataSource({ type: 'postgres', url: database.url });
  await dataSource.initialize();
  const statements = new Database(dataSource, 10_000);
  keys = new KeyStore(statements);
  phases = new PhaseStore(statements);
});
afterAll(async () => {
  await dataSource?.destroy();
  await database?.drop();
});

async function begin(): Promise<Attempt> {
  const reservation = reservationOf(randomUUID());
  const [reserved] = await keys.reserve([reservation]);
  if (reserved?.kind !== 'reserved') throw new Error('The key was taken.');
  return new Attempt(reservation, {} as never, {
    id: reserved.id,
    number: 1,
    recoveryPoint: 'started',
    recorded: [],
  });
}

const intentOf = (attempt: Attempt): Intent => ({
  attempt,
  name: 'charged',
  position: 1,
  effectKey: randomUUID(),
  inDoubt: 'stop',
  keyValidFor: null,
  request: '{"amount":1}',
});

const endingOf = (attempt: Attempt): PhaseEnding => ({
  attempt,
  name: 'charged',
  position: 1,
  kind: 'foreign',
  state: 'finished',
  result: '{"paid":true}',
});

const stateOf = async ({ id }: Attempt): Promise<unknown> =>
  (
    await dataSource.query(
      `SELECT p.state, p.result, k.recovery_point AS "recoveryPoint"
       FROM idempotency_keys k LEFT JOIN idempotency_phases p ON p.key_id = k.id WHERE k.id = $1`,
      [id],
    )
  )[0];

const INTENDED = { state: 'intended', result: null, recoveryPoint: 'started' };
const FINISHED = { state: 'finished', result: { paid: true }, recoveryPoint: 'charged' };

it('records intents and ends in one statement', async () => {
  const [ending, beginning] = [await begin(), await begin()];
  await phases.record([intentOf(ending)], []);
  const { intended, finished } = await phases.record([intentOf(beginning)], [endingOf(ending)]);
  expect([...intended.keys()]).toEqual([beginning.owner]);
  expect(intended.get(beginning.owner)!.startedAt).toBeInstanceOf(Date);
  expect([...finished]).toEqual([ending.owner]);
  expect(await stateOf(beginning)).toEqual(INTENDED);
  expect(await stateOf(ending)).toEqual(FINISHED);
});

it('does not let a lost lease cost others anything, and writes nothing for it', async () => {
  const attempts = [await begin(), await begin(), await begin(), await begin()];
  const [ends, endsTooLate, begins, beginsTooLate] = attempts as [
    Attempt,
    Attempt,
    Attempt,
    Attempt,
  ];
  await phases.record([intentOf(ends), intentOf(endsTooLate)], []);
  await dataSource.query('UPDATE idempotency_keys SET owner = $1 WHERE id = ANY($2)', [
    randomUUID(),
    [endsTooLate.id, beginsTooLate.id],
  ]);

  const { intended, finished } = await phases.record(
    [intentOf(beginsTooLate), intentOf(begins)],
    [endingOf(endsTooLate), endingOf(ends)],
  );
  expect([...intended.keys()]).toEqual([begins.owner]);
  expect([...finished]).toEqual([ends.owner]);
  expect(await stateOf(ends)).toEqual(FINISHED);
  expect(await stateOf(begins)).toEqual(INTENDED);
  expect(await stateOf(endsTooLate)).toEqual(INTENDED);
  expect(await stateOf(beginsTooLate)).toMatchObject({ state: null, recoveryPoint: 'started' });
});

it('ends nothing that was never intended', async () => {
  const attempt = await begin();
  const { finished } = await phases.record([], [endingOf(attempt)]);
  expect(finished.size).toBe(0);
  expect(await stateOf(attempt)).toMatchObject({ state: null });
});

it('gives each caller its own result', async () => {
  const attempts = await Promise.all(Array.from({ length: 20 }, begin));
  const batches = new PhaseBatches(phases, 10_000);
  const half = attempts.slice(0, 10);
  await Promise.all(half.map((attempt) => batches.intend(intentOf(attempt))));
  const lost = half[3]!;
  await dataSource.query('UPDATE idempotency_keys SET owner = $1 WHERE id = $2', [
    randomUUID(),
    lost.id,
  ]);
  const results = await Promise.all(
    attempts.map((attempt, index) =>
      index < 10 ? batches.finish(endingOf(attempt)) : batches.intend(intentOf(attempt)),
    ),
  );
  expect(results.slice(0, 10)).toEqual(half.map((attempt) => attempt !== lost));
  for (const intended of results.slice(10)) {
    expect(intended).toEqual({ startedAt: expect.any(Date) });
  }
});
