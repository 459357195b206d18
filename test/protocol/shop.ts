import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Controller, Headers, HttpException, Injectable, Param, Post } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Reconciler,
  type DoubtfulEffect,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { Provider } from './provider.js';
import type { Circumstances, Policy } from './vocabulary.js';

/** The real application that the model is compared with: an order, a charge, a receipt. */
export const TABLES = `
  CREATE TABLE orders (id serial, key text NOT NULL);
  CREATE TABLE charges (id int NOT NULL, key text NOT NULL);
  CREATE TABLE receipts (id serial, key text NOT NULL)`;

/** The provider that orders are charged at. Each run of the property brings its own. */
export const bank = { provider: new Provider() };

/** Attempts continue after their command is over, each with its own circumstances. */
const circumstances = new AsyncLocalStorage<Circumstances>();

/** Headers do not count for the fingerprint: a retry may meet other circumstances. */
function circumstancesOf(headers: IncomingHttpHeaders): Circumstances {
  return JSON.parse(headers['x-circumstances'] as string) as Circumstances;
}

class NotReached extends Error {}

@Controller('orders/:inDoubt')
export class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('unknown')
  @Idempotent()
  create(
    @Param() policy: Pick<Policy, 'inDoubt'>,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<object> {
    return circumstances.run(circumstancesOf(headers), () => this.order(policy));
  }

  @Post('resume')
  @Idempotent({ onAbandoned: 'resume' })
  resume(
    @Param() policy: Pick<Policy, 'inDoubt'>,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<object> {
    return circumstances.run(circumstancesOf(headers), () => this.order(policy));
  }

  private async order({ inDoubt }: Pick<Policy, 'inDoubt'>): Promise<object> {
    const { key } = this.phase.current!;
    const order = await this.phase.local('order_created', async (tx) => {
      const [row] = await tx.query<{ id: number }[]>(
        'INSERT INTO orders (key) VALUES ($1) RETURNING id',
        [key],
      );
      return row!.id;
    });
    const charge = await this.phase.foreign('charge_created', {
      inDoubt,
      keyValidFor: '24h',
      notExecuted: (error) => error instanceof NotReached,
      call: async ({ idempotencyKey }) => {
        const { behaviour } = circumstances.getStore()!;
        const reply = bank.provider.charge(idempotencyKey, behaviour);
        if (reply === 'not_reached') throw new NotReached();
        if (reply === 'no_answer') throw new Error('The provider did not answer.');
        if (reply.declined) throw declined();
        return reply;
      },
      record: async (tx, { id }) => {
        await tx.query('INSERT INTO charges (id, key) VALUES ($1, $2)', [id, key]);
        return id;
      },
    });
    await this.phase.local('receipt_staged', async (tx) => {
      await tx.query('INSERT INTO receipts (key) VALUES ($1)', [key]);
    });
    // Something that no second run would make again: equal answers are one answer.
    return { order, charge, nonce: randomUUID() };
  }
}

@Injectable()
export class ChargeReconciler {
  @Reconciler('charge_created')
  async lookUp({ idempotencyKey }: DoubtfulEffect): Promise<Reconciliation> {
    const { reconciler } = circumstances.getStore()!;
    const found = bank.provider.lookUp(idempotencyKey);
    if (reconciler === 'is_silent') return { outcome: 'unknown' };
    if (reconciler === 'is_careful' && found === undefined) return { outcome: 'unknown' };
    return outcomeOf(found);
  }
}

/** What the provider's books say about a call. */
export function outcomeOf(found: ReturnType<Provider['lookUp']>): Reconciliation {
  if (found === undefined) return { outcome: 'not_executed' };
  if (found === 'pending') return { outcome: 'unknown' };
  return found.declined
    ? { outcome: 'rejected', error: declined() }
    : { outcome: 'executed', result: found };
}

function declined(): HttpException {
  return new HttpException('Payment declined', 402);
}
