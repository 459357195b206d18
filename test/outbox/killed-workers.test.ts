import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.js';
import { until } from '../support/until.js';
import { makeDue, message } from './messages.js';
import { CLAIM, DELIVERED } from './statements.js';
import { createCompany, type Company } from './workers.js';

/** Where a delivery can be when its worker dies, and whether it took effect by then. */
const POINTS = {
  'in the handler, before it took effect': { charged: 0, left: true },
  'in the handler, after it took effect': { charged: 1, left: true },
  'after the handler, before the delivery is noted': { charged: 1, left: true },
  'after the delivery is noted, before it has heard of it': { charged: 1, left: false },
  // The last one: a worker that waits for its claim makes no other.
  'after the claim, before it has heard of it': { charged: 0, left: true },
};
type Point = keyof typeof POINTS;

let company: Company;
let proxy: PostgresProxy;
const ids = {} as Record<Point, string>;
/** Of each message, when the worker was dead and no other had come. */
const leftCharges = {} as Record<Point, number>;
const leftRows = {} as Record<Point, Record<string, any> | undefined>;

/** What brings the next delivery of the worker to a stop at each point. */
const stops: Record<Point, () => Promise<() => Promise<unknown>>> = {
  'in the handler, before it took effect': () => holdAtProvider('hold_before', 1),
  'in the handler, after it took effect': () => holdAtProvider('hold_after', 2),
  'after the handler, before the delivery is noted': async () => {
    const note = proxy.holdStatement(DELIVERED);
    return () => note.reached;
  },
  'after the delivery is noted, before it has heard of it': async () => {
    const note = proxy.holdReply(DELIVERED);
    return () => note.reached;
  },
  'after the claim, before it has heard of it': async () => {
    const claim = proxy.holdReply(CLAIM);
    return () => claim.reached;
  },
};

async function holdAtProvider(behaviour: 'hold_before' | 'hold_after', count: number) {
  const { control } = company.provider;
  await control.next(behaviour);
  return () => until(async () => (await control.untilHeld()).length === count);
}

beforeAll(async () => {
  company = await createCompany();
  proxy = await startPostgresProxy(company.database.url);
  // One worker with a delivery at each point, then SIGKILL: what each of them
  // leaves is the same as if it had been alone.
  const doomed = await company.startObedientWorker(proxy.url);
  for (const point of Object.keys(POINTS) as Point[]) {
    const stopped = await stops[point]();
    ids[point] = await company.web.add('charges', { amount: 100 });
    await doomed.ask('look');
    await stopped();
  }
  await doomed.kill();
  for (const point of Object.keys(POINTS) as Point[]) {
    leftCharges[point] = await company.chargesFor(ids[point]);
    leftRows[point] = await message(company.database, ids[point]);
  }
  await company.startWorker();
});
afterAll(async () => {
  await proxy.close();
  await company.close();
});

describe.each(Object.entries(POINTS) as [Point, { charged: number; left: boolean }][])(
  'A message whose worker is killed %s',
  (point, { charged, left }) => {
    it('is there for another worker, unless its delivery was recorded', () => {
      expect(leftCharges[point]).toBe(charged);
      if (left) expect(leftRows[point]).toMatchObject({ attempts: 1, dead_at: null });
      else expect(leftRows[point]).toBeUndefined();
    });

    it('is delivered when its lease has lapsed, and takes effect once', async () => {
      await makeDue(company.database, ids[point]);
      await until(async () => !(await message(company.database, ids[point])));
      expect(await company.chargesFor(ids[point])).toBe(1);
    });
  },
);

describe('A late request of a dead worker', () => {
  it('takes no further effect', async () => {
    await company.provider.control.release();
    const charges = await company.provider.control.charges();
    expect(charges.map(({ idempotencyKey }) => idempotencyKey).toSorted()).toEqual(
      Object.values(ids).toSorted(),
    );
  });
});
