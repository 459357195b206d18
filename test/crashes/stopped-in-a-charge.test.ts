import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { platformNames, type PlatformName } from '../support/listen.js';
import type { ServerProcess } from '../support/server-process.js';
import { createWorld, ONE_RIDE, outliveLease, requestRide, tracesOf, type World } from './rides.js';

let world: World;
let processes: Record<PlatformName, ServerProcess>;

beforeAll(async () => {
  world = await createWorld();
  const [express, fastify] = await Promise.all(platformNames.map(world.startProcess));
  processes = { express: express!, fastify: fastify! };
});
afterAll(() => world.close());

/** Every row, with its physical version: equal results mean that nothing was written in between. */
function everything(): Promise<unknown[]> {
  const tables = ['idempotency_keys', 'idempotency_phases', 'rides', 'audit_records'];
  return Promise.all(
    tables.map((table) =>
      world.database.query(`SELECT xmin::text, ctid::text, t.* FROM ${table} t ORDER BY ctid`),
    ),
  );
}

describe.each([
  { sleeping: 'express', waking: 'fastify' },
  { sleeping: 'fastify', waking: 'express' },
] as const)('A process on $sleeping that is stopped in its charge', ({ sleeping, waking }) => {
  it.each([
    { when: 'before the provider has booked it', order: 'hold_before' },
    { when: 'after the provider has booked it', order: 'hold_after' },
  ] as const)('$when, past its lease, keeps nothing of what it still does', async ({ order }) => {
    const sleeper = processes[sleeping];
    const successor = processes[waking];
    const key = `${sleeping}-${order}`;

    await world.provider.control.next(order);
    const answer = requestRide(sleeper, key);
    const [held] = await world.provider.control.untilHeld();
    sleeper.pause();
    await outliveLease(world.database, key);

    const taken = await requestRide(successor, key);
    expect(taken.status).toBe(201);
    expect(await tracesOf(world, key)).toEqual(ONE_RIDE);
    const before = await everything();

    sleeper.resume();
    await world.provider.control.release();
    const late = await answer;
    expect(late.status).toBe(409);
    expect(late.json()).toMatchObject({ code: 'lease_lost', retryable: true });
    expect(late.headers.get('retry-after')).toBe('1');
    expect(await everything()).toEqual(before);

    // Both asked under the same key, so the provider has charged once.
    expect(await tracesOf(world, key)).toEqual(ONE_RIDE);
    const charges = await world.provider.control.charges();
    expect(charges.filter(({ idempotencyKey }) => idempotencyKey === held!.idempotencyKey)).toEqual(
      [expect.objectContaining({ id: taken.json().chargeId })],
    );

    const retry = await requestRide(sleeper, key);
    expect([retry.status, retry.text]).toEqual([201, taken.text]);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
  });
});
