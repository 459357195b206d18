import { Injectable } from '@nestjs/common';
import { AtomicPhase, Outbox, Resumable, type ForeignPhase } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';
import { neverReached } from '../../../sample-app/payments/never-reached.js';
import { PaymentClient, type Payment } from '../../../sample-app/payments/payment-client.js';

export type InDoubt = 'repeat' | 'reconcile' | 'stop';

export interface Purchase {
  customer: string;
  amount: number;
  card: string;
  inDoubt: InDoubt;
}

/** What the charge stores with its intent, for the reconciler. */
export interface ChargeIntent {
  key: string;
  inDoubt: InDoubt;
}

/** Two deployments of one handler: the second one has a phase more, at its end. */
const VERSION = Number(process.env['VERSION'] ?? 1);

/** An order, a charge and a receipt, as in the model of test/protocol. */
@Injectable()
export class Purchases {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: PaymentClient,
    private readonly outbox: Outbox,
  ) {}

  /** Completed by a worker if the client does not return. */
  @Resumable('purchases.make')
  makeWithoutClient(purchase: Purchase): Promise<object> {
    return this.make(purchase);
  }

  async make(purchase: Purchase): Promise<object> {
    const { key } = this.phase.current!;
    const order = await this.phase.local('order_created', async (tx) => {
      const [row] = await tx.query<{ id: number }[]>(
        'INSERT INTO orders (key) VALUES ($1) RETURNING id',
        [key],
      );
      return row!.id;
    });
    const charge = isRecorded(purchase)
      ? await this.charge(key, purchase)
      : await this.chargeAndLook(key, purchase);
    const receipt = await this.phase.local('receipt_staged', async (tx) => {
      // The row's lock makes the numbers follow the order of the commits.
      const [[row]] = await tx.query<[{ receipts: number }[], number]>(
        'UPDATE customers SET receipts = receipts + 1 WHERE name = $1 RETURNING receipts',
        [purchase.customer],
      );
      if (!isRecorded(purchase)) await writeCharge(tx, charge, key);
      const number = row!.receipts;
      await tx.query('INSERT INTO receipts (customer, number, key) VALUES ($1, $2, $3)', [
        purchase.customer,
        number,
        key,
      ]);
      await this.outbox.add(
        tx,
        'receipts',
        { customer: purchase.customer, number, key },
        { orderingKey: purchase.customer },
      );
      return number;
    });
    if (VERSION === 2) {
      await this.phase.local('books_written', async (tx) => {
        await tx.query('INSERT INTO books (key) VALUES ($1)', [key]);
      });
    }
    // A second run would return other bytes.
    return { order, charge, receipt, version: VERSION, nonce: process.hrtime.bigint().toString() };
  }

  private charge(key: string, purchase: Purchase): Promise<string> {
    return this.phase.foreign<Payment, string>('charge_created', {
      ...this.payment(key, purchase),
      record: async (tx, { id }) => {
        await writeCharge(tx, id, key);
        return id;
      },
    });
  }

  /** Two foreign phases without writes of their own: the outcome of the first one travels with the intent of the second. */
  private async chargeAndLook(key: string, purchase: Purchase): Promise<string> {
    const { id } = await this.phase.foreign('charge_created', this.payment(key, purchase));
    await this.phase.foreign('books_looked_at', {
      inDoubt: 'repeat',
      call: async () => (await this.payments.findCharge(key)) === undefined,
    });
    return id;
  }

  private payment(
    key: string,
    { amount, card, customer, inDoubt }: Purchase,
  ): ForeignPhase<Payment> {
    const request = { amount, currency: 'usd', description: key };
    return {
      inDoubt,
      keyValidFor: '24h',
      request: { key, inDoubt } satisfies ChargeIntent,
      notExecuted: neverReached,
      call: (effect) =>
        // A transfer knows no keys: a call that is repeated blindly moves the money twice.
        inDoubt === 'stop'
          ? this.payments.transfer({ ...request, recipient: customer }, effect)
          : this.payments.charge({ ...request, card }, effect),
    };
  }
}

/** Half of the purchases write their charge with the outcome of the call, and half in the next local phase. */
function isRecorded({ amount }: Purchase): boolean {
  return amount % 2 === 0;
}

async function writeCharge(tx: EntityManager, id: string, key: string): Promise<void> {
  await tx.query('INSERT INTO charges (id, key) VALUES ($1, $2)', [id, key]);
}
