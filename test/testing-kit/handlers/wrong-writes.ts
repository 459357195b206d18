import { Controller, Inject, Post } from '@nestjs/common';
import { AtomicPhase, Idempotent, Outbox } from 'nestjs-atomic-idempotency';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';

/** Handlers that write to the database where no phase protects it. */
@Controller('wrong-writes')
export class WrongWrites {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly dataSource: DataSource,
    private readonly outbox: Outbox,
    @Inject(Pool) private readonly pool: Pool,
  ) {}

  @Post('outside')
  @Idempotent({ onAbandoned: 'resume' })
  async outside() {
    await this.dataSource.query(`INSERT INTO logs (text) VALUES ('ordered')`); // wrong: outside
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('past-the-transaction')
  @Idempotent({ onAbandoned: 'resume' })
  async pastTheTransaction() {
    return this.phase.local('order_created', async (tx) => {
      await this.dataSource.query(`INSERT INTO logs (text) VALUES ('ordered')`); // wrong: past-the-transaction
      return insertOrder(tx);
    });
  }

  @Post('by-another-pool')
  @Idempotent({ onAbandoned: 'resume' })
  async byAnotherPool() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    await this.pool.query(`INSERT INTO logs (text) VALUES ('ordered')`); // wrong: by-another-pool
    await this.phase.local('order_packed', async () => undefined);
    return order;
  }

  @Post('in-a-cte')
  @Idempotent({ onAbandoned: 'resume' })
  async inACte() {
    // wrong: in-a-cte
    await this.dataSource.query(
      `WITH sold AS (UPDATE stock SET left_over = left_over - 1 RETURNING id) SELECT id FROM sold`,
    );
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('in-a-call')
  @Idempotent({ phased: true })
  async inACall() {
    return this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: async ({ idempotencyKey }) => {
        await this.dataSource.query(`INSERT INTO logs (text) VALUES ('charged')`); // wrong: in-a-call
        return { id: idempotencyKey.length };
      },
    });
  }

  @Post('by-a-function')
  @Idempotent({ onAbandoned: 'resume' })
  async byAFunction() {
    // Nobody can tell from its text that it writes.
    await this.dataSource.query(`SELECT note_order()`); // wrong: by-a-function
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('after-the-answer')
  @Idempotent({ phased: true })
  async afterTheAnswer() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    setTimeout(() => void this.pool.query(`INSERT INTO logs (text) VALUES ('ordered')`), 1); // wrong: after-the-answer
    return order;
  }

  @Post('not-awaited')
  @Idempotent({ phased: true })
  async notAwaited() {
    // wrong: not-awaited
    return this.phase.local('order_created', async (tx) => {
      void tx.query(`INSERT INTO logs (text) VALUES ('ordered')`);
      return { done: true };
    });
  }

  @Post('message-outside')
  @Idempotent({ onAbandoned: 'resume' })
  async messageOutside() {
    await this.dataSource.transaction((tx) => this.outbox.add(tx, 'orders.created', {})); // wrong: message-outside
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }
}

const at = (name: string) => `/wrong-writes/${name}`;

export const wrongWrites: HandlerCase[] = [
  {
    name: 'a write outside any phase',
    path: at('outside'),
    code: 'write_outside_phase',
    message: /logs: 2 rows inserted instead of 1/,
  },
  {
    name: "a write past the phase's transaction",
    path: at('past-the-transaction'),
    code: 'write_past_transaction',
    message: /logs: 2 rows inserted instead of 1/,
  },
  {
    name: 'a write by another pool',
    path: at('by-another-pool'),
    code: 'write_outside_phase',
    message: /logs: 2 rows inserted instead of 1/,
  },
  {
    name: 'a write hidden in a CTE',
    path: at('in-a-cte'),
    code: 'write_outside_phase',
    message: /stock: 2 rows updated instead of 1/,
  },
  {
    name: 'a write in the call of a foreign phase',
    path: at('in-a-call'),
    code: 'write_in_call',
    message: /logs: 2 rows inserted instead of 1/,
  },
  {
    name: 'a write hidden in a function of the database',
    path: at('by-a-function'),
    code: 'rows_differ',
    message: /logs: 2 rows inserted instead of 1/,
  },
  {
    name: 'a write after the answer',
    path: at('after-the-answer'),
    code: 'work_after_answer',
    message: /INSERT INTO logs/,
  },
  {
    name: 'a statement of a phase that is not awaited',
    path: at('not-awaited'),
    code: 'statement_not_awaited',
    message: /INSERT INTO logs/,
  },
  {
    name: 'a message added outside any phase',
    path: at('message-outside'),
    code: 'messages_differ',
    message: /2 rows inserted instead of 1/,
  },
];
