import { randomUUID } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { verifyCrashSafety } from 'nestjs-atomic-idempotency/testing';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

/** The other system: what it was asked to do, by effect key. */
const ledger = new Map<string, number>();
let run = 0;

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('safe')
  @Idempotent({ onAbandoned: 'resume' })
  safe(): Promise<object> {
    return this.order('repeat');
  }

  @Post('stops')
  @Idempotent({ onAbandoned: 'resume' })
  stops(): Promise<object> {
    return this.order('stop');
  }

  private async order(inDoubt: 'repeat' | 'stop'): Promise<object> {
    const order = await this.phase.local('order_created', async (tx) => {
      const [row] = (await tx.query('INSERT INTO orders DEFAULT VALUES RETURNING id')) as {
        id: number;
      }[];
      return row!;
    });
    const charge = await this.phase.foreign('charge_created', {
      inDoubt,
      call: async ({ idempotencyKey }) => {
        ledger.set(idempotencyKey, (ledger.get(idempotencyKey) ?? 0) + 1);
        return { id: idempotencyKey };
      },
    });
    return { order: order.id, charge: charge.id };
  }

  @Post('phase-with-a-random-name')
  @Idempotent()
  async randomName(): Promise<object> {
    await this.phase.local(`order_created_${randomUUID()}`, async () => undefined);
    await this.phase.local('order_packed', async () => undefined);
    return {};
  }

  @Post('another-answer-each-time')
  @Idempotent({ onAbandoned: 'resume' })
  anotherAnswer(): object {
    run += 1;
    return { [`member${run}`]: true };
  }
}

const pointsOfAnOrder = [
  'reserved',
  'order_created:before_commit',
  'order_created:after_commit',
  'charge_created:before_intent',
  'charge_created:after_intent',
  'charge_created:after_call',
  'charge_created:before_commit',
  'charge_created:after_commit',
  'recording:before',
  'recording:after',
];

forEachPlatform('verifyCrashSafety', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
    await app.database.query('CREATE TABLE orders (id serial)');
  });
  beforeEach(async () => {
    ledger.clear();
    await app.database.query('TRUNCATE orders');
  });
  afterAll(() => app.close());

  it('crashes a safe endpoint at every point, and every key gets its answer', async () => {
    const seen: string[] = [];
    const { runs, table } = await verifyCrashSafety(
      app.app,
      { path: '/safe' },
      {
        unknown: 'fail',
        afterEach: ({ key }) => void seen.push(key),
      },
    );
    expect(runs.map((each) => each.crashedAt)).toEqual([undefined, ...pointsOfAnOrder]);
    for (const each of runs) {
      expect(each).toMatchObject({
        outcome: 'final',
        commits: { order_created: 1, charge_created: 1 },
        problems: [],
      });
      expect(each.calls.charge_created).toHaveLength(1);
    }
    expect(new Set(seen).size).toBe(runs.length);
    expect(await app.database.query('SELECT * FROM orders')).toHaveLength(runs.length);
    expect(ledger.size).toBe(runs.length);
    // Under its own key the other system may be asked again, after a lost outcome.
    const repeated = runs.filter((each) => each.calls.charge_created![0]!.count > 1);
    expect(repeated.map((each) => each.crashedAt)).toEqual([
      'charge_created:after_call',
      'charge_created:before_commit',
    ]);
    for (const point of pointsOfAnOrder) expect(table).toContain(point);
  });

  it('reports keys that end as unknown, and fails on them if asked to', async () => {
    const { runs } = await verifyCrashSafety(app.app, { path: '/stops' });
    const unknown = runs.filter((each) => each.outcome === 'unknown');
    expect(unknown.map((each) => each.crashedAt)).toEqual([
      'charge_created:after_intent',
      'charge_created:after_call',
      'charge_created:before_commit',
    ]);
    await expect(
      verifyCrashSafety(app.app, { path: '/stops' }, { unknown: 'fail' }),
    ).rejects.toThrow(/charge_created:after_call: the outcome is unknown/);
  });

  it('fails if a key is stuck', async () => {
    await expect(
      verifyCrashSafety(app.app, { path: '/phase-with-a-random-name' }, { retries: 2 }),
    ).rejects.toThrow(
      /order_packed:before_commit: no final answer in 3 requests; the last was 500/,
    );
  });

  it('fails if an answer differs', async () => {
    await expect(verifyCrashSafety(app.app, { path: '/another-answer-each-time' })).rejects.toThrow(
      /the answer \(201\) is not like the one without a crash/,
    );
  });
});
