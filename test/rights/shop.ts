import { Body, Controller, Injectable, Post } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyOperator,
  Outbox,
  OutboxHandler,
  Reconciler,
  Resumable,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { note } from '../support/phase-app.js';

/** What a test lets the shop do. */
export const shop = {
  gate: barrier(),
  charge: (): unknown => ({ id: 'ch_1' }),
  /** What the reconciler says. */
  found: { outcome: 'executed', result: { id: 'found' } } as Reconciliation,
  delivered: [] as unknown[],
};

@Injectable()
export class Orders {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Resumable('orders.create')
  async create({ name }: { name: string }): Promise<object> {
    await this.phase.local('order_saved', async (tx) => {
      await note(tx, name);
      await this.outbox.add(tx, 'order.saved', { name });
    });
    return this.phase.foreign('charged', {
      inDoubt: 'reconcile',
      call: async () => shop.charge() as object,
    });
  }

  @Reconciler('charged')
  async charged(): Promise<Reconciliation> {
    return shop.found;
  }

  @OutboxHandler('order.saved')
  async mail({ payload }: { payload: unknown }): Promise<void> {
    shop.delivered.push(payload);
  }
}

/** Every part of the protocol behind a route: phases, a worker's operation, a plain handler. */
@Controller()
export class ShopController {
  constructor(
    private readonly orders: Orders,
    private readonly operator: IdempotencyOperator,
  ) {}

  @Post('orders')
  @Idempotent({ phased: true })
  create(@Body() { name }: { name: string }) {
    return this.orders.create({ name });
  }

  @Post('later')
  @Idempotent({ run: 'background' })
  later(@Body() { name }: { name: string }) {
    return this.orders.create({ name });
  }

  @Post('plain')
  @Idempotent({ lease: '3s', onInProgress: 'wait', onAbandoned: 'resume' })
  async plain(@Body() body: { wait?: boolean; fail?: boolean } = {}) {
    if (body.wait) await shop.gate.pass();
    if (body.fail) throw new Error('a bug');
    return { plain: true };
  }

  @Post('webhook')
  webhook(@Body() { effectKey }: { effectKey: string }) {
    return this.operator.resolve(
      effectKey,
      { outcome: 'executed', result: { id: 'ch_2' } },
      'webhook',
    );
  }
}

export const tenantOf = (request: { headers: Record<string, string> }) =>
  request.headers['x-tenant'] ?? 'a';
