import type { ServerResponse } from 'node:http';
import { Body, ConflictException, Controller, Post } from '@nestjs/common';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';
import { Provider } from './provider.js';

/** Handlers that come to no end, to another one, or to one that nobody waits for. */
@Controller('wrong-ends')
export class WrongEnds {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly provider: Provider,
  ) {}

  @Post('come-back-later')
  @Idempotent({ phased: true, isFinal: ({ status }) => status !== 409 })
  async comeBackLater() {
    if (this.phase.current!.recoveryPoint !== 'started') {
      throw new ConflictException('Somebody works on this order already. Come back later.');
    }
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('stamped')
  @Idempotent({ phased: true })
  async stamped() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { ...order, served: '0000' };
  }

  @Post('nobody-awaits')
  @Idempotent({ phased: true })
  async nobodyAwaits() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    void this.track();
    return order;
  }

  private async track(): Promise<void> {
    throw new Error('Tracking is not configured.'); // wrong: nobody-awaits
  }

  @Post('never-sent')
  @Idempotent({ phased: true })
  async neverSent() {
    // wrong: never-sent
    return this.phase.foreign('charge_created', {
      notExecuted: (error) => String(error).includes('fetch failed'),
      call: () => this.provider.charge({ amount: 1 }),
    });
  }

  @Post('now-and-then')
  @Idempotent({ phased: true })
  async nowAndThen(@Body() { n }: { n: number }) {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    if (n % 2 === 1) await this.phase.local('survey_planned', async () => undefined);
    return order;
  }

  @Post('not-json')
  @Idempotent({ phased: true })
  async notJson() {
    // wrong: not-json
    const items = await this.phase.local('order_created', async (tx) => {
      const { id } = await insertOrder(tx);
      return new Map([[id, 'rocket']]);
    });
    return { items };
  }

  @Post('name-twice')
  @Idempotent({ phased: true })
  async nameTwice() {
    const ids: number[] = [];
    for (const item of ['rocket', 'fuel']) {
      const { id } = await this.phase.local('order_created', (tx) => insertOrder(tx, item)); // wrong: name-twice
      ids.push(id);
    }
    return { ids };
  }
}

let served = 0;

/** Middleware around the library, which changes each answer on its way out. */
export function stamp(
  request: { url?: string; originalUrl?: string },
  response: ServerResponse,
  next: () => void,
): void {
  if ((request.originalUrl ?? request.url) === at('stamped')) {
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = ((body: unknown, ...rest: unknown[]) => {
      served += 1;
      const text = Buffer.from(body as string | Uint8Array).toString();
      // As long as before: the headers may have been sent.
      return end(text.replace('"0000"', `"${String(served).padStart(4, '0')}"`), ...rest);
    }) as ServerResponse['end'];
  }
  next();
}

const at = (name: string) => `/wrong-ends/${name}`;

export const wrongEnds: HandlerCase[] = [
  {
    name: 'a retry that is told to come back later, for ever',
    path: at('come-back-later'),
    code: 'stuck',
    message: /no end in 4 requests; the last answer was 409/,
    options: { retries: 3 },
  },
  {
    name: 'middleware that changes the answer after it was recorded',
    path: at('stamped'),
    code: 'replay_differs',
  },
  {
    name: 'a promise that nobody awaits, and that is rejected',
    path: at('nobody-awaits'),
    code: 'unhandled_rejection',
    message: /Tracking is not configured/,
  },
  {
    name: 'a lost answer taken for a call that was never sent',
    path: at('never-sent'),
    code: 'doubt_taken_for_no',
    message: /`notExecuted`, or the reconciler, said/,
  },
  {
    name: 'a request that takes another way each time',
    path: at('now-and-then'),
    body: (n) => ({ n }),
    code: 'not_reached',
    message: /survey_planned/,
  },
  {
    name: 'a result that JSON cannot hold',
    path: at('not-json'),
    code: 'phase_misused',
    message: /is a Map/,
  },
  {
    name: 'a name that is used twice in a loop',
    path: at('name-twice'),
    code: 'phase_misused',
    message: /add the item's number/,
  },
];
