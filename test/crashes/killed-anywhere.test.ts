import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { FAULT_STEPS } from 'nestjs-atomic-idempotency/testing';
import { makeDue, messages } from '../outbox/messages.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import type { ServerProcess } from '../support/server-process.js';
import { printMatrix, type MatrixRow } from './matrix.js';
import {
  createWorld,
  killAtEach,
  ONE_RIDE,
  outliveLease,
  requestRide,
  tracesOf,
  type World,
} from './rides.js';

let world: World;
const matrix: MatrixRow[] = [];

beforeAll(async () => {
  world = await createWorld();
});
afterAll(async () => {
  printMatrix(matrix);
  await world.close();
});

forEachPlatform('A killed process', (platform) => {
  let survivor: ServerProcess;
  let mortal: ServerProcess;
  let points: string[];
  const keyOf = (point: string) => `${platform.name} ${point}`.replaceAll(' ', '-');

  beforeAll(async () => {
    [survivor, mortal] = await Promise.all([
      world.startProcess(platform.name),
      world.startProcess(platform.name),
    ]);
    const undisturbed = await requestRide(survivor, keyOf('undisturbed'));
    expect(undisturbed.status).toBe(201);
    points = await survivor.ask<string[]>('passed');
    await killAtEach(points, mortal, keyOf);
  });

  it('can die at a fault point at every step of the protocol', () => {
    const steps = points.map((point) => FAULT_STEPS.find((step) => point.endsWith(step)));
    expect(new Set(steps)).toEqual(new Set(FAULT_STEPS));
  });

  it('does not make a ride twice, wherever it was killed', async () => {
    for (const point of points) {
      const key = keyOf(point);
      const left = await keyRow(world.database, key);
      const leftCharges = (await tracesOf(world, key)).charges;
      await outliveLease(world.database, key);

      const retry = await requestRide(survivor, key);
      const replay = await requestRide(survivor, key);
      const traces = await tracesOf(world, key);
      matrix.push({
        platform: platform.name,
        killedAt: point,
        left: left.recovery_point,
        leftCharges,
        status: retry.status,
        outcome: retry.status === 409 ? retry.json().code : 'final',
        traces,
        sameAnswer: replay.text === retry.text,
      });

      const outcome = { point, status: retry.status, traces };
      expect(outcome).toEqual({ point, status: 201, traces: ONE_RIDE });
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      const { id, chargeId } = retry.json();
      const charges = await world.provider.control.charges();
      expect(charges).toContainEqual(
        expect.objectContaining({ id: chargeId, description: `Ride ${id}` }),
      );
      expect(replay.status).toBe(retry.status);
      expect(replay.body).toEqual(retry.body);
    }
  });

  it('leaves nothing behind that belongs to no answered ride', async () => {
    const [row] = await world.database.query<{ finished: number }>(
      `SELECT count(*)::int AS finished FROM idempotency_keys WHERE status = 'completed'`,
    );
    const { finished } = row!;
    expect(await tracesOf(world)).toEqual({
      rides: finished,
      auditRecords: finished,
      receipts: finished,
      charges: finished,
    });
  });

  it('does not lose or repeat the mail of a receipt', async () => {
    await makeDue(world.database); // also what the killed process was about to send
    while ((await messages(world.database)).length > 0) await survivor.ask('runJob', 'outbox');
    const rides = await world.database.query<{ id: string }>('SELECT id FROM rides');
    const receipts = await world.provider.control.receipts();
    expect(receipts.map(({ description }) => description).toSorted()).toEqual(
      rides.map(({ id }) => `Receipt for ride ${id}`).toSorted(),
    );
  });
});
