import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { shortLease } from '../support/cluster.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { HEARTBEAT } from '../support/store-statements.js';
import { withTransaction } from '../support/transactions.js';
import { until } from '../support/until.js';

let gate = barrier();
const signals = new Map<string, AbortSignal>();

@Controller('orders')
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  @Idempotent({ lease: shortLease(600) })
  async create() {
    const { key, signal } = this.phase.current!;
    signals.set(key, signal);
    await gate.pass();
    return {};
  }
}

// A phase locks the key's row from its fence to the end of its commit. If a
// heartbeat waited for it, the leases of all other keys would lapse meanwhile.
forEachPlatform('A heartbeat', (platform) => {
  let app: ProxiedApp;

  beforeAll(async () => {
    gate = barrier();
    app = await startProxiedApp(platform, { controllers: [OrdersController] });
  });
  afterAll(() => app.close());

  async function lockedUntil(key: string): Promise<number> {
    return (await keyRow(app.database, key)).locked_until.getTime();
  }

  async function untilRenewed(key: string, times: number): Promise<void> {
    const seen = new Set([await lockedUntil(key)]);
    await until(async () => seen.add(await lockedUntil(key)).size > times, `${key} is renewed`);
  }

  it('neither waits for a locked row nor considers its lease lost', async () => {
    const answers = ['locked', 'free'].map((key) => send(`${app.url}/orders`, { key }));
    await gate.arrived(2);

    await withTransaction(app.database, async (tx) => {
      await tx.query(
        `SELECT id FROM idempotency_keys WHERE scope = '' AND key = 'locked' FOR UPDATE`,
      );
      // A heartbeat that was on its way may still have renewed it before the lock.
      const before = await lockedUntil('locked');
      const heartbeats = app.proxy.count(HEARTBEAT);
      await untilRenewed('free', 5);

      // One that was on its way is counted already.
      expect(app.proxy.count(HEARTBEAT)).toBeGreaterThanOrEqual(heartbeats + 4);
      expect(await lockedUntil('locked')).toBe(before);
      expect(signals.get('locked')!.aborted).toBe(false);
    });
    await untilRenewed('locked', 2);

    gate.open();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
  });
});
