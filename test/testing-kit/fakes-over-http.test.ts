import {
  Body,
  Controller,
  Injectable,
  Param,
  ParseIntPipe,
  Post,
  type NestInterceptor,
} from '@nestjs/common';
import { map } from 'rxjs';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Maintenance, Resumable } from 'nestjs-atomic-idempotency';
import { FakeAtomicPhase, provideIdempotencyForTests } from 'nestjs-atomic-idempotency/testing';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';

let charges: string[] = [];
let orders = 0;

/** What a charge waits for. */
let bank: Promise<void> | undefined;
let bankOpens: () => void;
let atTheBank: (() => void) | undefined;

@Injectable()
class Packing {
  constructor(private readonly phase: AtomicPhase) {}

  @Resumable('orders.pack')
  async pack({ id }: { id: number }) {
    return this.phase.local('packed', async () => ({ packed: id }));
  }
}

@Controller()
class OrdersController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly packing: Packing,
  ) {}

  @Post('orders')
  @Idempotent()
  async create(@Body() { item }: { item: string }) {
    const order = await this.phase.local('ordered', async () => ({ id: (orders += 1) }));
    await this.phase.foreign('charged', {
      inDoubt: item === 'doubtful' ? 'stop' : 'repeat',
      call: async ({ idempotencyKey }) => {
        charges.push(idempotencyKey);
        atTheBank?.();
        await bank;
      },
    });
    return { ...order, item };
  }

  @Post('packs/:id')
  @Idempotent({ run: 'background' })
  pack(@Param('id', ParseIntPipe) id: number) {
    return this.packing.pack({ id });
  }

  @Post('unprotected')
  async unprotected() {
    await this.phase.local('ordered', async () => undefined);
  }
}

/** Replays pass it without a value. */
const outer: NestInterceptor = {
  intercept: (_context, next) => next.handle().pipe(map((body: object) => Object.assign(body))),
};

forEachPlatform('An application of the fakes', (platform) => {
  let app: TestApp;
  let phase: FakeAtomicPhase;

  beforeAll(async () => {
    app = await platform.start(
      {
        controllers: [OrdersController],
        providers: [Packing, ...provideIdempotencyForTests({ module: { header: 'Request-Id' } })],
      },
      { logger: false, configure: (nest) => void nest.useGlobalInterceptors(outer) },
    );
    phase = app.app.get(FakeAtomicPhase);
  });
  beforeEach(() => {
    charges = [];
    orders = 0;
    phase.reset();
  });
  afterAll(() => app.close());

  const post = (path: string, key?: string, body: object = { item: 'rocket' }) =>
    send(`${app.url}/${path}`, { body, ...(key && { headers: { 'request-id': key } }) });

  it('answers by the real protocol, with the options of the test', async () => {
    const key = crypto.randomUUID();
    const first = await post('orders', key);
    expect([first.status, first.json()]).toEqual([201, { id: 1, item: 'rocket' }]);
    const retry = await post('orders', key);
    expect(retry.body.equals(first.body)).toBe(true);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect((await post('orders', key, { item: 'another' })).status).toBe(422);
    expect((await post('orders')).status).toBe(400);
    expect(orders).toBe(1);
  });

  it('refuses a request while another one runs under its key', async () => {
    const key = crypto.randomUUID();
    const reached = new Promise<void>((resolve) => (atTheBank = resolve));
    bank = new Promise<void>((resolve) => (bankOpens = resolve));
    const first = post('orders', key);
    await reached;
    const second = await post('orders', key);
    expect([second.status, second.json()]).toMatchObject([409, { code: 'in_progress' }]);
    bankOpens();
    expect((await first).status).toBe(201);
    expect(orders).toBe(1);
  });

  it('resumes after a failure, under the same effect key', async () => {
    const key = crypto.randomUUID();
    phase.failAt('charged', { when: 'unknown' });
    expect((await post('orders', key)).status).toBe(500);
    expect((await post('orders', key)).json()).toEqual({ id: 1, item: 'rocket' });
    expect(charges).toHaveLength(2);
    expect(new Set(charges).size).toBe(1);
    expect(phase.ran).toEqual(['ordered', 'charged', 'charged']);
  });

  it('keeps an unknown outcome', async () => {
    const key = crypto.randomUUID();
    phase.failAt('charged', { when: 'unknown' });
    const body = { item: 'doubtful' };
    const statuses = [await post('orders', key, body), await post('orders', key, body)];
    expect(statuses.map(({ status }) => status)).toEqual([409, 409]);
    expect(statuses[1]!.json()).toMatchObject({ code: 'outcome_unknown' });
    expect(charges).toHaveLength(1);
  });

  it('leaves background work to the completer, which the test runs', async () => {
    const key = crypto.randomUUID();
    expect((await post('packs/4', key, {})).status).toBe(202);
    expect((await post('packs/4', key, {})).status).toBe(202);
    expect(await app.app.get(Maintenance).runOnce('completer')).toBe(1);
    expect((await post('packs/4', key, {})).json()).toEqual({ packed: 4 });
    expect(phase.ran).toEqual(['packed']);
  });

  it('gives a key back that a pipe refused', async () => {
    const key = crypto.randomUUID();
    expect((await post('packs/four', key, {})).status).toBe(400);
    expect((await post('packs/4', key, {})).status).toBe(202);
    await app.app.get(Maintenance).runOnce('completer');
  });

  it('refuses a phase on a route without @Idempotent(), as an application does', async () => {
    expect((await post('unprotected')).status).toBe(500);
    expect(phase.ran).toEqual([]);
  });

  it('refuses to resume at a point over HTTP', async () => {
    phase.resumeAt('charged', { results: { ordered: { id: 1 } } });
    expect((await post('orders', crypto.randomUUID())).status).toBe(500);
    phase.reset();
  });
});
