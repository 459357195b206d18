import {
  BadRequestException,
  Controller,
  InternalServerErrorException,
  Param,
  Post,
  type PipeTransform,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';
import { barrier, type Barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';
import { writtenRow } from '../support/written-row.js';

/** The stalled attempt and its successor stop at gates of their own. */
let gates: Barrier[];
let passed: number;
/** How the stalled attempt continues. */
let ending: () => Promise<unknown>;

async function attempt(): Promise<unknown> {
  const number = passed++;
  await gates[number]!.pass();
  return number === 0 ? ending() : { by: 'successor' };
}

/** Stalls the first request before its handler begins, and then refuses it. */
const stallingPipe: PipeTransform = {
  async transform(value: string) {
    if (value === 'piped' && passed === 0) {
      passed += 1;
      await gates[0]!.pass();
      throw new BadRequestException();
    }
    return value;
  },
};

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('orders/:kind')
  @Idempotent({ onAbandoned: 'resume' })
  create(@Param('kind', stallingPipe) kind: string) {
    if (kind === 'in-a-phase') return this.phase.local('order', (tx) => this.write(tx));
    return attempt();
  }

  private async write(tx: EntityManager): Promise<unknown> {
    const [row] = await tx.query('INSERT INTO orders DEFAULT VALUES RETURNING id');
    return { ...((await attempt()) as object), row: row.id };
  }
}

const ENDINGS: { how: string; kind: string; ending: () => Promise<unknown> }[] = [
  { how: 'completes', kind: 'plain', ending: async () => ({ by: 'stalled' }) },
  {
    how: 'fails, which would open the key again',
    kind: 'plain',
    ending: () => Promise.reject(new InternalServerErrorException()),
  },
  {
    how: 'commits a phase',
    kind: 'in-a-phase',
    ending: async () => ({ by: 'stalled' }),
  },
];

forEachPlatform('Stalled attempts', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
    await app.database.query('CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY)');
  });
  afterAll(() => app.close());

  beforeEach(async () => {
    gates = [barrier(), barrier()];
    passed = 0;
    await app.database.query('DELETE FROM idempotency_keys');
    await app.database.query('DELETE FROM orders');
  });

  const order = (kind: string): Promise<Received> =>
    send(`${app.url}/orders/${kind}`, { key: 'stalled', body: {} });

  /** A stalled attempt, and another one that has taken over its key. */
  async function stall(kind: string) {
    const stalled = order(kind);
    await gates[0]!.arrived();
    await lapse(app.database, 'stalled');
    const successor = order(kind);
    await gates[1]!.arrived();
    return { stalled, successor };
  }

  describe.each(ENDINGS)('A stalled attempt that $how', (end) => {
    beforeEach(() => {
      ending = end.ending;
    });

    it('does not change a running successor', async () => {
      const { stalled, successor } = await stall(end.kind);
      const row = await writtenRow(app.database, 'stalled');
      expect(row).toMatchObject({ status: 'in_progress', attempt: 2 });

      gates[0]!.open();
      expectRetryable(await stalled, 409, 'lease_lost');
      expect(await writtenRow(app.database, 'stalled')).toEqual(row);

      gates[1]!.open();
      expect((await successor).json()).toMatchObject({ by: 'successor' });
      await expectSuccessorsAnswer(await successor, end.kind);
    });

    it('does not change what a successor has finished', async () => {
      const { stalled, successor } = await stall(end.kind);
      gates[1]!.open();
      expect((await successor).json()).toMatchObject({ by: 'successor' });
      const row = await writtenRow(app.database, 'stalled');
      expect(row).toMatchObject({ status: 'completed', recovery_point: 'finished' });

      gates[0]!.open();
      expectRetryable(await stalled, 409, 'lease_lost');
      expect(await writtenRow(app.database, 'stalled')).toEqual(row);
      await expectSuccessorsAnswer(await successor, end.kind);
    });
  });

  it('that a pipe rejects do not give their successor’s key back', async () => {
    const { stalled, successor } = await stall('piped');
    const row = await writtenRow(app.database, 'stalled');

    gates[0]!.open();
    expect((await stalled).status).toBe(400);
    expect(await writtenRow(app.database, 'stalled')).toEqual(row);

    gates[1]!.open();
    await expectSuccessorsAnswer(await successor, 'piped');
  });

  async function expectSuccessorsAnswer(successor: Received, kind: string): Promise<void> {
    expect(successor.status).toBe(201);
    const retry = await order(kind);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(successor.body);
    // Of the writes in phases, only the successor's were kept.
    const { row } = successor.json();
    const kept = row === undefined ? [] : [{ id: row }];
    expect(await app.database.query('SELECT id FROM orders')).toEqual(kept);
  }
});
