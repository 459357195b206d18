import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send, type Received } from '../support/http.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';

const MAX_RUN_TIME = 10 * 60_000;

/** Only the first attempt hangs here. */
let hanging: Barrier;
let signals: AbortSignal[];

@Controller('orders')
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  @Idempotent({ maxRunTime: MAX_RUN_TIME, onAbandoned: 'resume' })
  async create() {
    const { attempt, signal } = this.phase.current!;
    signals.push(signal);
    if (attempt === 1) await hanging.pass();
    return { attempt };
  }
}

forEachPlatform('maxRunTime', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    hanging = barrier();
    signals = [];
  });

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });

  async function isLeased(key: string): Promise<boolean> {
    const [row] = await app.database.query(
      'SELECT locked_until > now() AS leased FROM idempotency_keys WHERE key = $1',
      [key],
    );
    return row!.leased;
  }

  /** A heartbeat that comes when this much time has passed. */
  async function beatAfter(milliseconds: number): Promise<void> {
    const later = performance.now() + milliseconds;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => later);
    await heartbeat(app.app);
    clock.mockRestore();
  }

  /** Begins a request that hangs, and returns when its lease has lapsed for good. */
  async function hang(key: string): Promise<Promise<Received>[]> {
    const hung = order(key);
    await hanging.arrived();
    await lapse(app.database, key);
    await beatAfter(MAX_RUN_TIME - 60_000);
    expect(await isLeased(key)).toBe(true);
    await lapse(app.database, key);
    await beatAfter(MAX_RUN_TIME);
    expect(await isLeased(key)).toBe(false);
    return [hung];
  }

  it('lets another attempt take the key of a handler that hangs, and tells the handler', async () => {
    const [hung] = await hang('replaced');
    const second = await order('replaced');
    expect(second.json()).toEqual({ attempt: 2 });

    await heartbeat(app.app);
    expect(signals[0]!.aborted).toBe(true);
    expect(signals[1]!.aborted).toBe(false);
    hanging.open();
    expectRetryable(await hung!, 409, 'lease_lost');
    expect((await order('replaced')).body).toEqual(second.body);
  });

  it('does not prevent a recording if no other attempt has taken the key', async () => {
    const [hung] = await hang('revived');
    hanging.open();
    const answer = await hung!;
    expect(answer.json()).toEqual({ attempt: 1 });
    expect((await order('revived')).body).toEqual(answer.body);
    expect(signals).toHaveLength(1);
  });
});
