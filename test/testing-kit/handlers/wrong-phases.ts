import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Controller, Post } from '@nestjs/common';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import type { HandlerCase } from './case.js';
import { insertOrder } from './orders.js';

/** Handlers that use phases in a way that a resume cannot follow, and answers that it cannot make again. */
@Controller('wrong-phases')
export class WrongPhases {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly dataSource: DataSource,
  ) {}

  @Post('random-name')
  @Idempotent({ phased: true })
  async randomName() {
    await this.phase.local(`order_created_${randomUUID()}`, (tx) => insertOrder(tx)); // wrong: random-name
    await this.phase.local('order_packed', async () => undefined);
    return {};
  }

  @Post('not-awaited')
  @Idempotent({ phased: true })
  async notAwaited() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    // wrong: not-awaited
    void this.phase.local('order_packed', async (tx) => {
      await tx.query(`INSERT INTO logs (text) VALUES ('packed')`);
    });
    return order;
  }

  @Post('at-once')
  @Idempotent({ phased: true })
  async atOnce() {
    await Promise.all([
      this.phase.local('order_created', (tx) => insertOrder(tx)),
      this.phase.local('order_packed', async () => undefined), // wrong: at-once
    ]).catch(() => undefined);
    return {};
  }

  @Post('closure')
  @Idempotent({ phased: true })
  async closure() {
    let order: { id: number } | undefined;
    await this.phase.local('order_created', async (tx) => {
      order = await insertOrder(tx);
    });
    return { id: order!.id }; // wrong: closure
  }

  @Post('closure-null')
  @Idempotent({ phased: true })
  async closureNull() {
    let order: { id: number } | undefined;
    await this.phase.local('order_created', async (tx) => {
      order = await insertOrder(tx);
    });
    return { id: order?.id ?? null };
  }

  @Post('new-time')
  @Idempotent({ phased: true })
  async newTime() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { ...order, reference: randomUUID() };
  }

  @Post('another-answer')
  @Idempotent({ phased: true })
  async anotherAnswer() {
    const { attempt } = this.phase.current!;
    await this.phase.local('order_created', (tx) => insertOrder(tx));
    return { status: attempt === 1 ? 'created' : 'exists' };
  }

  @Post('other-phases')
  @Idempotent({ phased: true })
  async otherPhases() {
    const { attempt } = this.phase.current!;
    await this.phase.local('order_created', (tx) => insertOrder(tx));
    if (attempt === 1) await this.phase.local('order_packed', async () => undefined); // wrong: other-phases
    return {};
  }

  @Post('outer-transaction')
  @Idempotent({ onAbandoned: 'resume' })
  async outerTransaction() {
    return this.dataSource.transaction(
      () => this.phase.local('order_created', (tx) => insertOrder(tx)), // wrong: outer-transaction
    );
  }

  @Post('plain')
  @Idempotent()
  async plain() {
    return this.phase.local('order_created', (tx) => insertOrder(tx));
  }

  @Post('not-idempotent')
  notIdempotent() {
    return {};
  }

  @Post('never-answers')
  @Idempotent({ phased: true })
  async neverAnswers() {
    const order = await this.phase.local('order_created', (tx) => insertOrder(tx));
    if (this.phase.current!.attempt > 1) await pause(3_600_000, undefined, { ref: false });
    return order;
  }
}

const at = (name: string) => `/wrong-phases/${name}`;

export const wrongPhases: HandlerCase[] = [
  {
    name: 'a phase with a random name',
    path: at('random-name'),
    code: 'phase_misused',
    message: /a resume has to take the same road/,
  },
  { name: 'a phase that is not awaited', path: at('not-awaited'), code: 'phase_not_awaited' },
  {
    name: 'two phases at once, with the error swallowed',
    path: at('at-once'),
    code: 'phase_misused',
    message: /Phases run one after another/,
  },
  {
    name: 'a variable set in a phase and used after it',
    path: at('closure'),
    code: 'retry_failed',
    message: /TypeError/,
  },
  {
    name: 'a variable that is only set where the phase runs',
    path: at('closure-null'),
    code: 'answer_differs',
    message: /id is null/,
  },
  {
    name: 'a random value in the answer',
    path: at('new-time'),
    code: 'answer_not_repeatable',
    message: /reference/,
  },
  {
    name: 'an answer that depends on the attempt',
    path: at('another-answer'),
    code: 'answer_differs',
    message: /status "exists" instead of "created"/,
  },
  {
    name: 'phases that depend on the attempt',
    path: at('other-phases'),
    code: 'phases_differ',
    message: /order_created instead of order_created → order_packed/,
  },
  {
    name: 'a transaction around a phase',
    path: at('outer-transaction'),
    code: 'phase_misused',
    message: /open transaction/,
  },
  {
    name: 'a handler that is not phased, where every crash has to be survived',
    path: at('plain'),
    code: 'unknown_outcome',
    options: { unknown: 'fail' },
    message: /before the first phase/,
  },
  { name: 'a route without @Idempotent()', path: at('not-idempotent'), code: 'not_idempotent' },
  { name: 'a request that fails', path: at('nowhere'), code: 'not_a_success', message: /404/ },
  {
    name: 'a retry that never answers',
    path: at('never-answers'),
    code: 'hangs',
    options: { timeout: 200 },
  },
];
