import { AsyncResource } from 'node:async_hooks';
import {
  BadGatewayException,
  Body,
  Controller,
  HttpException,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyHealthIndicator,
  IdempotencyOperator,
  Maintenance,
  Outbox,
  OutboxHandler,
  OutcomeUnknownError,
  PhaseStoppedError,
  PhaseUsageError,
  Reconciler,
  Resumable,
  type DeliveredMessage,
  type DoubtfulEffect,
  type InDoubt,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import {
  FakeAtomicPhase,
  FakeIdempotencyOperator,
  FakeOutbox,
  FakePhaseError,
  IdempotencyTestingModule,
  provideIdempotencyForTests,
} from 'nestjs-atomic-idempotency/testing';
import { FAKED } from '../../lib/testing/fakes/fake-atomic-phase.js';

/** Charges once per key, as a good provider does. */
class Payments {
  readonly calls: { key: string; amount: unknown }[] = [];

  async charge(key: string, amount: unknown): Promise<{ charge: string }> {
    this.calls.push({ key, amount });
    return { charge: 'ch_1' };
  }
}

/** An order, a charge, a receipt. */
@Injectable()
class Checkout {
  inDoubt: InDoubt = 'repeat';

  constructor(
    private readonly phase: AtomicPhase,
    private readonly payments: Payments,
  ) {}

  async order(amount: number) {
    const order = await this.phase.local('ordered', async () => ({ id: 7, at: new Date(0) }));
    const charge = await this.phase.foreign('charged', {
      request: { amount },
      inDoubt: this.inDoubt,
      notExecuted: (error) => (error as { code?: string }).code === 'ECONNREFUSED',
      call: ({ idempotencyKey, request }) => this.payments.charge(idempotencyKey, request),
    });
    await this.phase.local('receipt_sent', async () => undefined);
    return { order: order.id, at: order.at, ...charge };
  }
}

describe('FakeAtomicPhase', () => {
  let phase: FakeAtomicPhase;
  let payments: Payments;
  let checkout: Checkout;
  beforeEach(() => {
    phase = new FakeAtomicPhase();
    payments = new Payments();
    checkout = new Checkout(phase, payments);
  });

  it('runs phases and records what they were', async () => {
    await expect(checkout.order(5)).resolves.toEqual({
      order: 7,
      at: '1970-01-01T00:00:00.000Z', // through JSON, as on a resume
      charge: 'ch_1',
    });
    expect(phase.ran).toEqual(['ordered', 'charged', 'receipt_sent']);
    expect(phase.phases).toEqual([
      expect.objectContaining({ name: 'ordered', kind: 'local', attempt: 1, outcome: 'finished' }),
      {
        name: 'charged',
        kind: 'foreign',
        attempt: 1,
        outcome: 'finished',
        result: { charge: 'ch_1' },
        request: { amount: 5 },
        effectKey: phase.effectKey('charged'),
      },
      { name: 'receipt_sent', kind: 'local', attempt: 1, outcome: 'finished' },
    ]);
    expect(payments.calls).toEqual([{ key: phase.effectKey('charged'), amount: { amount: 5 } }]);
  });

  it('hands out effect keys that are UUIDs, the same in each attempt and run, another for each request', async () => {
    await checkout.order(5);
    const first = phase.effectKey('charged');
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new FakeAtomicPhase().effectKey('charged')).toBe(first);
    phase.reset();
    await checkout.order(5);
    expect(payments.calls[1]!.key).not.toBe(first);
    expect(payments.calls[1]!.key).toBe(phase.effectKey('charged'));
  });

  it('tells what the current attempt is', async () => {
    const attempts: unknown[] = [];
    const note = () => attempts.push(phase.current);
    await phase.local('one', async () => void note());
    phase.retry();
    note();
    expect(attempts).toEqual([
      expect.objectContaining({ scope: 'unit-test', attempt: 1, recoveryPoint: 'started' }),
      expect.objectContaining({ scope: 'unit-test', attempt: 2, recoveryPoint: 'one' }),
    ]);
    expect(phase.unprotected(() => 'as it is')).toBe('as it is');
  });

  describe('told to resume', () => {
    it('returns the results of earlier phases, which do not run', async () => {
      phase.resumeAt('charged', { results: { ordered: { id: 3, at: 'then' } } });
      await expect(checkout.order(5)).resolves.toMatchObject({ order: 3, at: 'then' });
      expect(phase.ran).toEqual(['charged', 'receipt_sent']);
      expect(phase.phases[0]).toMatchObject({ name: 'ordered', outcome: 'recalled', attempt: 2 });
    });

    it('throws again what a call was rejected with', async () => {
      const declined = new HttpException({ code: 'declined' }, 402);
      phase.resumeAt('receipt_sent', { results: { ordered: { id: 3 }, charged: declined } });
      const error = await checkout.order(5).catch((thrown: HttpException) => thrown);
      expect((error as HttpException).getResponse()).toEqual({ code: 'declined' });
      expect(payments.calls).toEqual([]);
    });

    it.each([
      ['repeat', false, 1],
      ['repeat', true, 0],
      ['stop', false, 0],
    ] as const)(
      'leaves a call in doubt to the phase: %s, key forgotten: %s',
      async (inDoubt, keyForgotten, calls) => {
        checkout.inDoubt = inDoubt;
        phase.resumeAt('charged', { results: { ordered: { id: 3 } }, inDoubt: true, keyForgotten });
        const key = phase.effectKey('charged');
        const result = await checkout.order(5).catch((error: unknown) => error);
        expect(payments.calls).toEqual(Array(calls).fill({ key, amount: { amount: 5 } }));
        if (calls === 0) expect(result).toBeInstanceOf(OutcomeUnknownError);
      },
    );

    it('asks the reconciler that it was given', async () => {
      const asked: DoubtfulEffect[] = [];
      phase = new FakeAtomicPhase({
        reconcilers: {
          charged: (effect) => {
            asked.push(effect);
            return { outcome: 'executed', result: { charge: 'found' } };
          },
        },
      });
      checkout = new Checkout(phase, payments);
      checkout.inDoubt = 'reconcile';
      phase.resumeAt('charged', { results: { ordered: { id: 3 } }, inDoubt: true });
      await expect(checkout.order(5)).resolves.toMatchObject({ charge: 'found' });
      expect(asked).toMatchObject([{ recoveryPoint: 'charged', request: { amount: 5 } }]);
    });

    it('says which result is missing, and which phases do not match', async () => {
      phase.resumeAt('charged');
      await expect(checkout.order(5)).rejects.toThrow(
        `told to resume at "charged", but phase "ordered" comes before it`,
      );
      phase.resumeAt('charged', { results: { packed: undefined } });
      await expect(checkout.order(5)).rejects.toThrow('Recorded: packed. Reached now: ordered.');
    });
  });

  describe('told to fail', () => {
    it.each([
      ['before', 'charged', ['ordered'], 0],
      ['in', 'ordered', ['ordered'], 0],
      ['after', 'charged', ['ordered', 'charged'], 1],
      ['unknown', 'charged', ['ordered', 'charged'], 1],
    ] as const)('%s, at %s', async (when, name, ran, calls) => {
      phase.failAt(name, { when });
      await expect(checkout.order(5)).rejects.toThrow(FakePhaseError);
      expect(phase.ran).toEqual(ran);
      expect(payments.calls).toHaveLength(calls);

      phase.retry();
      await expect(checkout.order(5)).resolves.toMatchObject({ charge: 'ch_1' });
      const keys = new Set(payments.calls.map(({ key }) => key));
      expect(keys.size).toBe(1);
      // A call whose answer was lost is made again, the finished one is not.
      expect(payments.calls).toHaveLength(when === 'unknown' ? 2 : 1);
    });

    it('fails with the error of the test, which decides what that means', async () => {
      phase.failAt('charged', { error: new HttpException('declined', 402) });
      await expect(checkout.order(5)).rejects.toThrow('declined');
      expect(phase.phases[1]).toMatchObject({ outcome: 'rejected' });

      phase.reset().failAt('charged', {
        error: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      });
      await expect(checkout.order(5)).rejects.toThrow('refused');
      expect(phase.phases[1]).toMatchObject({ outcome: 'withdrawn' });

      checkout.inDoubt = 'stop';
      phase.reset().failAt('charged', { error: new BadGatewayException() });
      await expect(checkout.order(5)).rejects.toThrow('Bad Gateway');
      expect(phase.phases[1]).toMatchObject({ outcome: 'in_doubt' });
      expect(payments.calls).toEqual([]);
      phase.retry();
      await expect(checkout.order(5)).rejects.toThrow(OutcomeUnknownError);
    });

    it('lets nothing happen after the end, whatever the code catches', async () => {
      phase.failAt('one', { when: 'after' });
      await phase.local('one', async () => 1).catch(() => undefined);
      await expect(phase.local('two', async () => 2)).rejects.toThrow(PhaseStoppedError);
    });

    it('says when the failure did not happen', async () => {
      phase.failAt('chraged');
      await checkout.order(5);
      expect(() => phase.retry()).toThrow(
        `failAt('chraged') did not happen: no such point was reached. Phases reached: ordered, charged, receipt_sent.`,
      );
    });

    it('refuses an unknown outcome of a local phase', async () => {
      phase.failAt('ordered', { when: 'unknown' });
      await expect(checkout.order(5)).rejects.toThrow('Only the outcome of a foreign call');
    });
  });

  describe('refuses what the real one refuses:', () => {
    it('a name that is used twice, and tells a test what it may have meant', async () => {
      await checkout.order(5);
      await expect(checkout.order(5)).rejects.toThrow(
        /Phase "ordered" was already used in this request.*call reset\(\) of FakeAtomicPhase/,
      );
    });

    it('a phase inside another, and two at once', async () => {
      const inner = () => phase.local('inner', async () => 1);
      await expect(phase.local('outer', inner)).rejects.toThrow('started inside phase "outer"');
      const two = Promise.allSettled([
        phase.local('a', async () => 1),
        phase.local('b', async () => 2),
      ]);
      expect(await two).toEqual([
        { status: 'fulfilled', value: 1 },
        { status: 'rejected', reason: expect.any(PhaseUsageError) },
      ]);
    });

    it('a result that is not JSON, and a name that is none', async () => {
      await expect(phase.local('big', async () => 1n)).rejects.toThrow('cannot be stored as JSON');
      await expect(phase.local('finished', async () => 1)).rejects.toThrow('recovery point');
      await expect(
        phase.foreign('call', { call: async () => 1, keyValidFor: 'soon' as never }),
      ).rejects.toThrow('not a duration');
    });

    it('a phase that is not awaited', async () => {
      let go!: () => void;
      const slow = new Promise<void>((resolve) => (go = resolve));
      const request = phase.request(() => {
        void phase.local('slow', () => slow);
      });
      go();
      await expect(request).rejects.toThrow('Phase "slow" is still running');

      let later!: () => Promise<unknown>;
      phase.reset();
      await phase.request(() => {
        const work = () => phase.local('late', async () => 1);
        later = AsyncResource.bind(work);
      });
      await expect(later()).rejects.toThrow('had answered');
    });
  });

  it('hands out the tx of the test, or says what to pass', async () => {
    await expect(
      phase.local('saved', (tx) => tx.save('Order' as never, {} as never)),
    ).rejects.toThrow(
      'Phase "saved" uses tx.save, and the fake has no transaction manager. Pass what the code under test calls: new FakeAtomicPhase({ tx: { save: … } })',
    );
    const tx = { save: async (_entity: unknown, row: object) => ({ id: 1, ...row }) };
    const given = new FakeAtomicPhase({ tx });
    await expect(
      given.local('saved', (manager) => manager.save('Order', { item: 'rocket' })),
    ).resolves.toEqual({ id: 1, item: 'rocket' });
  });

  it('has an override for everything that AtomicPhase can do', () => {
    // That FAKED is complete is checked by the compiler.
    for (const name of Object.keys(FAKED)) {
      expect(Object.getOwnPropertyDescriptor(FakeAtomicPhase.prototype, name)).toBeDefined();
    }
  });
});

@Controller('orders')
class OrdersController {
  constructor(
    private readonly checkout: Checkout,
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
    readonly operator: IdempotencyOperator,
    readonly health: IdempotencyHealthIndicator,
    readonly maintenance: Maintenance,
  ) {}

  @Post()
  @Idempotent()
  async create(@Body() order: { amount: number }) {
    return this.checkout.order(order.amount);
  }

  @Post('mails')
  @Idempotent({ phased: true })
  async mail() {
    await this.phase.local('mailed', async (tx) => {
      await this.outbox.add(tx, 'mail', { to: 'alice' });
      await this.outbox.add(tx, 'phase', {});
    });
  }
}

@Injectable()
class Handlers {
  readonly got: DeliveredMessage[] = [];

  constructor(private readonly phase: AtomicPhase) {}

  @OutboxHandler('mail')
  mail(message: DeliveredMessage) {
    this.got.push(message);
  }

  @OutboxHandler('phase')
  async withPhase() {
    await this.phase.local('never', async () => undefined);
  }

  @Reconciler('charged')
  lookUp(): Reconciliation {
    return { outcome: 'executed', result: { charge: 'looked up' } };
  }

  @Resumable('orders.pack')
  async pack(input: { id: number }) {
    return input.id;
  }
}

describe('provideIdempotencyForTests()', () => {
  const compile = async () => {
    const testing = await Test.createTestingModule({
      controllers: [OrdersController],
      providers: [Checkout, Payments, Handlers, ...provideIdempotencyForTests({ tx: {} })],
    }).compile();
    return { testing, phase: testing.get(FakeAtomicPhase), orders: testing.get(OrdersController) };
  };

  it('makes a controller with all that can be injected, without a database and without overrides', async () => {
    const { testing, orders, phase } = await compile();
    expect(testing.get(AtomicPhase)).toBe(phase);
    await expect(orders.create({ amount: 1 })).resolves.toMatchObject({ charge: 'ch_1' });
    // Each call of a handler is a request of its own.
    await expect(orders.create({ amount: 2 })).resolves.toMatchObject({ charge: 'ch_1' });
    expect(phase.ran).toHaveLength(6);
    await expect(orders.health.check()).resolves.toMatchObject({ idempotency: { status: 'up' } });
    await expect(testing.get(Handlers).pack({ id: 1 })).resolves.toBe(1);
    await testing.close();
  });

  it('resumes a handler, and asks the reconcilers of the module', async () => {
    const { testing, orders, phase } = await compile();
    testing.get(Checkout).inDoubt = 'reconcile';
    phase.resumeAt('charged', { results: { ordered: { id: 9 } }, inDoubt: true });
    await expect(orders.create({ amount: 1 })).resolves.toMatchObject({
      order: 9,
      charge: 'looked up',
    });
  });

  it('keeps messages, forgets those of a phase that failed, and delivers them', async () => {
    const { testing, orders, phase } = await compile();
    const outbox = testing.get(FakeOutbox);
    phase.failAt('mailed');
    await expect(orders.mail()).rejects.toThrow(FakePhaseError);
    expect(outbox.messages).toEqual([]);
    phase.retry();
    await orders.mail();
    expect(outbox.messages).toMatchObject([
      { topic: 'mail', payload: { to: 'alice' } },
      { topic: 'phase', payload: {} },
    ]);
    // The second handler starts a phase, which the real one refuses as well.
    await expect(outbox.deliver()).rejects.toThrow('a message handler');
    expect(testing.get(Handlers).got).toMatchObject([{ topic: 'mail', payload: { to: 'alice' } }]);
    expect(outbox.messages).toHaveLength(1);
    await expect(outbox.add(undefined as never, 'mail')).rejects.toThrow('without a transaction');
    await expect(outbox.add({} as never, '')).rejects.toThrow('topic');
  });

  it('keeps what an operator decided', async () => {
    const { testing, orders } = await compile();
    const operator = testing.get(FakeIdempotencyOperator);
    expect(orders.operator).toBe(operator);
    const effectKey = crypto.randomUUID();
    const resolution = { outcome: 'executed', result: 1 } as const;
    expect(await orders.operator.resolve(effectKey, resolution, 'webhook')).toMatchObject({
      changed: false,
      reason: 'not_found',
    });
    operator.change = { changed: false, reason: 'running', detail: 'It runs.' };
    expect(await orders.operator.resolve(effectKey, resolution, 'webhook')).toBe(operator.change);
    expect(await orders.operator.resolve('no UUID', resolution, 'webhook')).toMatchObject({
      reason: 'invalid',
    });
    expect(operator.decisions).toHaveLength(3);
    expect(operator.decisions[0]).toEqual({
      action: 'resolve',
      about: effectKey,
      resolution,
      by: 'webhook',
    });
    expect(await operator.find()).toEqual({ keys: [], next: undefined });
  });

  it('says so where something needs tables', async () => {
    const { orders } = await compile();
    await expect(orders.maintenance.runOnce('reaper')).rejects.toThrow(
      'provideIdempotencyForTests() has none',
    );
  });

  it('serves imported modules as a module', async () => {
    @Module({ controllers: [OrdersController], providers: [Checkout, Payments, Handlers] })
    class OrdersModule {}
    const testing = await Test.createTestingModule({
      imports: [OrdersModule, IdempotencyTestingModule.forTests()],
    }).compile();
    await expect(testing.get(OrdersController).create({ amount: 1 })).resolves.toMatchObject({
      order: 7,
    });
    expect(testing.get(FakeAtomicPhase).ran).toHaveLength(3);
  });
});
