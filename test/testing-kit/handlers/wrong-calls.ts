import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { request } from 'node:http';
import { BadRequestException, Controller, Injectable, Post } from '@nestjs/common';
import { AtomicPhase, Idempotent, Outbox, OutboxHandler } from 'nestjs-atomic-idempotency';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';
import { Provider } from './provider.js';

const REPEAT = { inDoubt: 'repeat', keyValidFor: '24h' } as const;

/** Mails each time it is asked to, or never. */
@Injectable()
export class WrongMailer {
  constructor(private readonly provider: Provider) {}

  @OutboxHandler('orders.shipped')
  async sendWithoutKey(): Promise<void> {
    await this.provider.charge({ mail: true }); // wrong: in-a-delivery
  }

  @OutboxHandler('orders.lost')
  async fail(): Promise<void> {
    throw new Error('There is no mail server.');
  }
}

/** Handlers that ask another system for more, or for less, than their client asked for. */
@Controller('wrong-calls')
export class WrongCalls {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly provider: Provider,
    private readonly outbox: Outbox,
  ) {}

  @Post('outside')
  @Idempotent({ onAbandoned: 'resume' })
  async outside() {
    const { id } = await this.provider.charge({ amount: 1 }); // wrong: outside
    await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { id };
  }

  @Post('in-a-transaction')
  @Idempotent({ onAbandoned: 'resume' })
  async inATransaction() {
    return this.phase.local('order_created', async (tx) => {
      const { id } = await this.provider.charge({ amount: 1 }); // wrong: in-a-transaction
      await insertOrder(tx);
      return { id };
    });
  }

  @Post('without-key')
  @Idempotent({ phased: true })
  async withoutKey() {
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: () => this.provider.charge({ amount: 1 }), // wrong: without-key
    });
  }

  @Post('with-a-new-key')
  @Idempotent({ phased: true })
  async withANewKey() {
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: () => this.provider.charge({ amount: 1 }, randomUUID()), // wrong: with-a-new-key
    });
  }

  @Post('another-request')
  @Idempotent({ phased: true })
  async anotherRequest() {
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) =>
        this.provider.charge({ amount: 1, at: randomUUID() }, idempotencyKey), // wrong: another-request
    });
  }

  @Post('two-calls')
  @Idempotent({ phased: true })
  async twoCalls() {
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: async ({ idempotencyKey }) => {
        await this.provider.charge({ amount: 1 }, `${idempotencyKey}/1`);
        return this.provider.charge({ amount: 2 }, `${idempotencyKey}/2`); // wrong: two-calls
      },
    });
  }

  @Post('no-end-of-key')
  @Idempotent({ phased: true })
  async noEndOfKey() {
    // wrong: no-end-of-key
    return this.phase.foreign('charge_created', {
      inDoubt: 'repeat',
      call: ({ idempotencyKey }) => this.provider.charge({ amount: 1 }, idempotencyKey),
    });
  }

  @Post('doubt-as-no')
  @Idempotent({ phased: true })
  async doubtAsNo() {
    // wrong: doubt-as-no
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) =>
        this.provider.charge({ amount: 1 }, idempotencyKey).catch(() => {
          throw new BadRequestException('The payment failed.');
        }),
    });
  }

  @Post('swallowed-in-call')
  @Idempotent({ phased: true })
  async swallowedInCall() {
    // wrong: swallowed-in-call
    return this.phase.foreign('charge_created', {
      ...REPEAT,
      call: ({ idempotencyKey }) =>
        this.provider.charge({ amount: 1 }, idempotencyKey).catch(() => ({ id: 'none' })),
    });
  }

  @Post('swallowed')
  @Idempotent({ phased: true })
  async swallowed() {
    const charge = await this.phase
      // wrong: swallowed
      .foreign('charge_created', {
        ...REPEAT,
        call: ({ idempotencyKey }) => this.provider.charge({ amount: 1 }, idempotencyKey),
      })
      .catch(() => undefined);
    return { id: charge?.id ?? 'none' };
  }

  @Post('not-awaited')
  @Idempotent({ phased: true })
  async notAwaited() {
    return this.phase.foreign('mail_sent', {
      ...REPEAT,
      call: async ({ idempotencyKey }) => {
        void this.provider.charge({ mail: true }, idempotencyKey); // wrong: not-awaited
        return { sent: true };
      },
    });
  }

  @Post('by-node-http')
  @Idempotent({ onAbandoned: 'resume' })
  async byNodeHttp() {
    await new Promise((resolve, reject) => {
      // wrong: by-node-http
      const call = request(`${this.provider.url}/mails`, { method: 'POST' }, (response) => {
        response.resume().on('end', resolve);
      });
      call.on('error', reject).end('hello');
    });
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('in-a-delivery')
  @Idempotent({ phased: true })
  async inADelivery() {
    await this.phase.local('mail_staged', (tx) => this.outbox.add(tx, 'orders.shipped', {}));
    return {};
  }

  @Post('failing-delivery')
  @Idempotent({ phased: true })
  async failingDelivery() {
    await this.phase.local('mail_staged', (tx) => this.outbox.add(tx, 'orders.lost', {}));
    return {};
  }

  @Post('by-socket')
  @Idempotent({ onAbandoned: 'resume' })
  async bySocket() {
    const { hostname, port } = new URL(this.provider.url);
    await new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname); // wrong: by-socket
      socket.on('error', reject).on('close', resolve).end('EHLO example.com\r\n');
      socket.resume();
    });
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }
}

const at = (name: string) => `/wrong-calls/${name}`;

export const wrongCalls: HandlerCase[] = [
  {
    name: 'a call outside any phase',
    path: at('outside'),
    code: 'call_outside_phase',
    message: /POST http:\/\/127.0.0.1:\d+: 2 effects instead of 1/,
  },
  {
    name: 'a call inside a transaction',
    path: at('in-a-transaction'),
    code: 'call_in_transaction',
    message: /2 effects instead of 1/,
  },
  {
    name: 'a repeatable call without the effect key',
    path: at('without-key'),
    code: 'effect_key_not_sent',
    message: /"charge_created" .* without the effect key.*2 effects instead of 1/,
  },
  {
    name: 'a key that is made anew for each attempt',
    path: at('with-a-new-key'),
    code: 'effect_key_not_sent',
  },
  {
    name: 'a repeat with another body',
    path: at('another-request'),
    code: 'request_differs',
    message: /two different requests under one effect key/,
  },
  {
    name: 'two calls in one foreign phase',
    path: at('two-calls'),
    code: 'second_call_in_phase',
  },
  {
    name: 'a key whose end nobody has stated',
    path: at('no-end-of-key'),
    code: 'effect_key_may_be_forgotten',
  },
  {
    name: 'an error of the call taken for a refusal',
    path: at('doubt-as-no'),
    code: 'doubt_taken_for_no',
    message: /answered 400/,
  },
  {
    name: 'an error of the call replaced by a value',
    path: at('swallowed-in-call'),
    code: 'error_swallowed',
  },
  {
    name: 'an error of a phase swallowed by the handler',
    path: at('swallowed'),
    code: 'error_swallowed',
    message: /the handler went on and answered 201/,
  },
  {
    name: 'a call that is not awaited',
    path: at('not-awaited'),
    code: 'call_not_awaited',
    message: /before POST .* had answered/,
  },
  {
    name: 'a call by node:http outside any phase',
    path: at('by-node-http'),
    code: 'call_outside_phase',
    message: /2 effects instead of 1/,
  },
  {
    name: 'a mail without a key in a handler of the outbox',
    path: at('in-a-delivery'),
    code: 'delivery_differs',
    message: /called POST http:.* again, without a key/,
  },
  {
    name: 'a message that cannot be delivered',
    path: at('failing-delivery'),
    code: 'delivery_failed',
    message: /There is no mail server/,
  },
  {
    name: 'a plain socket outside any phase',
    path: at('by-socket'),
    code: 'call_outside_phase',
    message: /127.0.0.1:\d+: 2 effects instead of 1/,
  },
];
