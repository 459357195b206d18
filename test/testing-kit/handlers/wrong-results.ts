import { Controller, Post } from '@nestjs/common';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';
import { Provider } from './provider.js';

/** Changes while requests are under way. */
const prices = { rocket: 100 };

/** Handlers that use something else than what their phases return. */
@Controller('wrong-results')
export class WrongResults {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly provider: Provider,
    private readonly dataSource: DataSource,
  ) {}

  private async order(): Promise<{ id: number; items: string[]; state?: string }> {
    return this.phase.local('order_created', async (tx) => ({
      ...(await insertOrder(tx)),
      items: ['rocket'],
    }));
  }

  @Post('changed-for-the-answer')
  @Idempotent({ phased: true })
  async changedForTheAnswer() {
    const order = await this.order();
    await this.phase.local('order_packed', async (tx) => {
      await tx.query(`INSERT INTO logs (text) VALUES ('packed')`);
      order.state = 'packed';
    });
    return order;
  }

  @Post('changed-for-a-repeat')
  @Idempotent({ phased: true })
  async changedForARepeat() {
    const order = await this.order();
    await this.phase.local('gift_added', async (tx) => {
      await tx.query(`INSERT INTO logs (text) VALUES ('gift')`);
      order.items.push('gift');
    });
    await this.phase.foreign('parcel_sent', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: ({ idempotencyKey }) => this.provider.charge({ items: order.items }, idempotencyKey), // wrong: changed-for-a-repeat
    });
    return { id: order.id };
  }

  @Post('changed-for-a-call')
  @Idempotent({ phased: true })
  async changedForACall() {
    const order = await this.order();
    await this.phase.local('gift_added', async (tx) => {
      await tx.query(`INSERT INTO logs (text) VALUES ('gift')`);
      order.items.push('gift');
    });
    await this.phase.foreign('parcel_sent', {
      call: () => this.provider.charge({ items: order.items }), // wrong: changed-for-a-call
    });
    return { id: order.id };
  }

  @Post('changed-for-a-write')
  @Idempotent({ phased: true })
  async changedForAWrite() {
    const order = await this.order();
    await this.phase.local('gift_added', async () => void order.items.push('gift'));
    await this.phase.local('parcel_noted', async (tx) => {
      await tx.query('INSERT INTO logs (text) VALUES ($1)', [order.items.join()]); // wrong: changed-for-a-write
    });
    return { id: order.id };
  }

  @Post('price-of-now')
  @Idempotent({ phased: true })
  async priceOfNow() {
    const amount = prices.rocket;
    return this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: ({ idempotencyKey }) => this.provider.charge({ amount }, idempotencyKey), // wrong: price-of-now
    });
  }

  @Post('rows-that-are-left')
  @Idempotent({ phased: true })
  async rowsThatAreLeft() {
    const { first } = await this.phase.local('parcels_noted', async (tx) => {
      const rows = await tx.query<{ id: number }[]>(
        `INSERT INTO parcels (state) SELECT 'open' FROM generate_series(1, 3) RETURNING id`,
      );
      return { first: rows[0]!.id };
    });
    const open = await this.dataSource.query<{ id: number }[]>(
      `SELECT id FROM parcels WHERE state = 'open' AND id >= $1 ORDER BY id`,
      [first],
    );
    for (const [index, { id }] of open.entries()) {
      // wrong: rows-that-are-left
      await this.phase.local(`parcel_${index}_sent`, async (tx) => {
        await tx.query(`UPDATE parcels SET state = 'sent' WHERE id = $1`, [id]);
      });
    }
    return {};
  }
}

const at = (name: string) => `/wrong-results/${name}`;

export const wrongResults: HandlerCase[] = [
  {
    name: 'a result that a later phase changes for the answer',
    path: at('changed-for-the-answer'),
    code: 'answer_differs',
    message: /no state/,
  },
  {
    name: 'a result that a later phase changes for a repeatable call',
    path: at('changed-for-a-repeat'),
    code: 'request_differs',
    message: /gift/,
  },
  {
    name: 'a result that a later phase changes for a call',
    path: at('changed-for-a-call'),
    code: 'calls_differ',
    message: /body\.items\.length 1.* instead of .*body\.items\.length 2/,
  },
  {
    name: 'a result that a later phase changes for a write',
    path: at('changed-for-a-write'),
    code: 'rows_differ',
    message: /text "rocket" instead of text "rocket,gift"/,
  },
  {
    name: 'a price that is another one when the request is retried',
    path: at('price-of-now'),
    code: 'request_differs',
    message: /"amount":100.*"amount":101/,
    options: {
      meanwhile: () => void (prices.rocket += 1),
      afterEach: () => void (prices.rocket = 100),
    },
  },
  {
    name: 'a loop over the rows that are left',
    path: at('rows-that-are-left'),
    code: 'phases_differ',
    message: /instead of parcels_noted → parcel_0_sent → parcel_1_sent → parcel_2_sent/,
  },
];
