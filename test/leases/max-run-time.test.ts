import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';
import { shortLease } from '../support/cluster.js';
import { send, type Received } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';
import { until } from '../support/until.js';

const LEASE = shortLease(300);

/** Only the first attempt hangs here. */
let hanging: Barrier;
let signals: AbortSignal[];

@Controller('orders')
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  @Idempotent({ lease: LEASE, maxRunTime: 3 * LEASE, onAbandoned: 'resume' })
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

  /** Begins a request that hangs, and returns when its lease has lapsed for good. */
  async function hang(key: string): Promise<Promise<Received>[]> {
    const hung = order(key);
    await hanging.arrived();
    const lapsed = await until(async () => {
      const [row] = await app.database.query(
        `SELECT locked_until, last_run_at FROM idempotency_keys
         WHERE key = $1 AND locked_until < now() - interval '0.5 seconds'`,
        [key],
      );
      return row;
    }, 'a lapsed lease');
    // It was renewed until maxRunTime had passed, and not beyond.
    const held = lapsed.locked_until.getTime() - lapsed.last_run_at.getTime();
    expect(held).toBeGreaterThan(2 * LEASE);
    expect(await keyRow(app.database, key)).toMatchObject({ locked_until: lapsed.locked_until });
    return [hung];
  }

  it('lets another attempt take the key of a handler that hangs, and tells the handler', async () => {
    const [hung] = await hang('replaced');
    const second = await order('replaced');
    expect(second.json()).toEqual({ attempt: 2 });

    await until(() => signals[0]!.aborted, 'the signal of the first attempt');
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
