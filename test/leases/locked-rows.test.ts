import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { withTransaction } from '../support/transactions.js';

let gate = barrier();
const signals = new Map<string, AbortSignal>();

@Controller('orders')
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  @Idempotent()
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
  let app: IdempotentApp;

  beforeAll(async () => {
    gate = barrier();
    app = await startIdempotentApp(platform, { controllers: [OrdersController] });
  });
  afterAll(() => app.close());

  async function lockedUntil(key: string): Promise<number> {
    const [row] = await app.database.query<{ until: number }>(
      'SELECT extract(epoch FROM locked_until)::float8 AS until FROM idempotency_keys WHERE key = $1',
      [key],
    );
    return row!.until;
  }

  async function expectRenewed(key: string): Promise<void> {
    const before = await lockedUntil(key);
    await heartbeat(app.app);
    expect(await lockedUntil(key)).toBeGreaterThan(before);
  }

  it('neither waits for a locked row nor considers its lease lost', async () => {
    const answers = ['locked', 'free'].map((key) => send(`${app.url}/orders`, { key }));
    await gate.arrived(2);

    await withTransaction(app.database, async (tx) => {
      await tx.query(
        `SELECT id FROM idempotency_keys WHERE scope = '' AND key = 'locked' FOR UPDATE`,
      );
      const before = await lockedUntil('locked');
      await expectRenewed('free');
      await expectRenewed('free');

      expect(await lockedUntil('locked')).toBe(before);
      expect(signals.get('locked')!.aborted).toBe(false);
    });
    await expectRenewed('locked');

    gate.open();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
  });
});
