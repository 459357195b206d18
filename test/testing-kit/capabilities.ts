import { request as httpRequest } from 'node:http';
import { Body, ConflictException, Controller, Injectable, Post, Req } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  Resumable,
  type DeliveredMessage,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { insertOrder } from './handlers/orders.js';

/** Another system that is a plain function, and keeps a ledger. */
export const ledger: string[] = [];

@Injectable()
export class SlowOrders {
  constructor(private readonly phase: AtomicPhase) {}

  @Resumable('slow-orders')
  run({ item }: { item: string }) {
    return this.phase.local('order_created', (tx) => insertOrder(tx, item));
  }
}

/** Mails each time it is asked to. */
@Injectable()
export class ForgetfulMailer {
  @OutboxHandler('mails.send')
  async send(): Promise<void> {
    ledger.push('mail');
  }
}

export type Courier = 'careful' | 'careless' | 'lost';

/** Takes a parcel to where it belongs, waits for the receipt or does not, or never arrives. */
@Injectable()
export class Parcels {
  @OutboxHandler('parcels.send')
  async send({ id, payload }: DeliveredMessage<{ url: string; courier: Courier }>): Promise<void> {
    if (payload.courier === 'lost') throw new Error('There is no such street.');
    const taken = fetch(payload.url, { method: 'POST', headers: { 'idempotency-key': id } });
    if (payload.courier === 'careful') await taken;
    else taken.catch(() => undefined);
  }
}

/** Endpoints that show what the kit can be told. */
@Controller('capabilities')
export class Capabilities {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
    private readonly slow: SlowOrders,
    @InjectDataSource('reports') private readonly reportDatabase: DataSource,
  ) {}

  @Post('order')
  @Idempotent({ phased: true })
  order() {
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('customer')
  @Idempotent({ phased: true })
  customer(@Body() { name }: { name: string }) {
    return this.phase.local('customer_created', async (tx) => {
      await tx.query('INSERT INTO customers (name) VALUES ($1)', [name]);
      return { name };
    });
  }

  @Post('last-piece')
  @Idempotent({ phased: true })
  lastPiece(@Body() { piece }: { piece: number }) {
    return this.phase.local('piece_sold', async (tx) => {
      const [, sold] = (await tx.query(
        'UPDATE stock SET left_over = left_over - 1 WHERE id = $1 AND left_over > 0',
        [piece],
      )) as [unknown, number];
      if (sold === 0) throw new ConflictException('Sold out.');
      return { sold: true };
    });
  }

  @Post('charge')
  @Idempotent({ phased: true })
  charge() {
    return this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: async () => {
        ledger.push('charge');
        return { charged: true };
      },
    });
  }

  @Post('mail')
  @Idempotent({ phased: true })
  async mail() {
    await this.phase.local('mail_staged', (tx) => this.outbox.add(tx, 'mails.send', {}));
    return {};
  }

  @Post('parcel')
  @Idempotent({ phased: true })
  async parcel(
    @Req() { headers }: { headers: { host: string } },
    @Body() { courier }: { courier: Courier },
  ) {
    const parcel = { url: `http://${headers.host}/capabilities/letterbox`, courier };
    await this.phase.local('parcel_staged', (tx) => this.outbox.add(tx, 'parcels.send', parcel));
    return {};
  }

  @Post('letterbox')
  letterbox() {
    return {};
  }

  @Post('conflict-first')
  @Idempotent({ phased: true, isFinal: ({ status }) => status !== 409 })
  async conflictFirst() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    if (this.phase.current!.attempt === 1) throw new ConflictException('Not yet.');
    return order;
  }

  @Post('nested')
  @Idempotent({ phased: true })
  async nested(@Req() request: { headers: { host: string } }) {
    const { id } = await this.phase.foreign('order_placed', {
      inDoubt: 'repeat',
      keyValidFor: '24h',
      call: async ({ idempotencyKey }) => {
        const answer = await fetch(`http://${request.headers.host}/capabilities/order`, {
          method: 'POST',
          headers: { 'idempotency-key': idempotencyKey },
        });
        if (!answer.ok) throw new Error(`It was answered with ${answer.status}.`);
        return (await answer.json()) as { id: number };
      },
    });
    return { id };
  }

  @Post('position')
  @Idempotent({ phased: true })
  position() {
    return this.phase.local('order_created', async (tx) => {
      const { attempt } = this.phase.current!;
      await tx.query('INSERT INTO logs (text) VALUES ($1)', [`attempt ${attempt}`]);
      return {};
    });
  }

  @Post('metrics')
  @Idempotent({ onAbandoned: 'resume' })
  async metrics(@Body() { url }: { url: string }) {
    await fetch(url, { method: 'POST', body: 'orders 1' });
    await new Promise((resolve, reject) => {
      httpRequest(url, { method: 'POST' }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject)
        .end('orders 1');
    });
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('attempt')
  @Idempotent({ phased: true })
  async attempt() {
    const { id } = await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { id, attempt: this.phase.current!.attempt };
  }

  @Post('reports')
  @Idempotent({ onAbandoned: 'resume' })
  async reports(@Body() { where }: { where: 'phase' | 'outside' | 'unprotected' }) {
    const write = () => this.reportDatabase.query(`INSERT INTO reports (text) VALUES ('ordered')`);
    if (where === 'outside') await write();
    if (where === 'unprotected') await this.phase.unprotected(write);
    return this.phase.local('order_created', async (tx) => {
      if (where === 'phase') await write();
      return insertOrder(tx);
    });
  }

  @Post('background')
  @Idempotent({ run: 'background' })
  background(@Body() body: { item: string }) {
    return this.slow.run(body);
  }
}
