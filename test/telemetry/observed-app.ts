import { Body, Controller, Injectable, Post } from '@nestjs/common';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  Resumable,
  type DeliveredMessage,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import type { ModuleMetadata } from '@nestjs/common';
import { Charges } from '../reconciliation/charges.js';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import type { Platform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';

export interface ObservedApp extends ProxiedApp, PhaseApp {
  charges: Charges;
  mails: Mails;
  work: Work;
}

/** Messages of the topic `mails`: what becomes of them is up to the test. */
@Injectable()
export class Mails {
  readonly delivered: string[] = [];
  fails = false;

  @OutboxHandler('mails')
  async send({ id }: DeliveredMessage): Promise<void> {
    if (this.fails) throw new Error('The mail server is down.');
    this.delivered.push(id);
  }
}

/** Work that goes on without its client. */
@Injectable()
export class Work {
  waits: Barrier | undefined;

  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Resumable('work.do')
  async do(input: { text: string }): Promise<{ done: string }> {
    await this.phase.local('work_done', async (tx) => {
      await note(tx, input.text);
      await this.outbox.add(tx, 'mails', { text: input.text });
    });
    await this.waits?.pass();
    return { done: input.text };
  }
}

@Controller('work')
class WorkController {
  constructor(private readonly work: Work) {}

  @Post('background')
  @Idempotent({ run: 'background' })
  background(@Body() input: { text: string }) {
    return this.work.do(input);
  }

  @Post('now')
  @Idempotent({ phased: true })
  now(@Body() input: { text: string }) {
    return this.work.do(input);
  }
}

/** An application with a bit of everything that can be observed. No job runs by itself. */
export async function startObservedApp(
  platform: Platform,
  idempotency: Partial<IdempotencyModuleOptions> = {},
  imports: NonNullable<ModuleMetadata['imports']> = [],
): Promise<ObservedApp> {
  const app = await startPhaseApp<ProxiedApp>(
    platform,
    {
      controllers: [WorkController],
      providers: [Charges, Mails, Work],
      imports,
      idempotency: {
        scope: ({ headers }) => headers['x-customer'] ?? 'nobody',
        storeTimeout: '1s',
        outbox: { maxAttempts: 2 },
        maintenance: false,
        ...idempotency,
      },
    },
    startProxiedApp,
  );
  app.handle('orders', (_phases, body) => body);
  app.handle('charges', (phases) =>
    phases.foreign('charge_created', {
      call: () => Promise.reject(new Error('The provider timed out.')),
    }),
  );
  return {
    ...app,
    charges: app.app.get(Charges),
    mails: app.app.get(Mails),
    work: app.app.get(Work),
  };
}

export function post(
  { url }: ObservedApp,
  path: string,
  key: string,
  body: object = { text: 'the-body' },
  customer = 'customer-of-the-test',
) {
  return send(`${url}/${path}`, { key, body, headers: { 'x-customer': customer } });
}

export { barrier };
