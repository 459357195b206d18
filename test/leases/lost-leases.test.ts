import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';
import { writtenRow } from '../support/written-row.js';

let began: Barrier;
let called: number;

/** Works until it is told to stop. */
function stopped(signal: AbortSignal): Promise<Error> {
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(signal.reason as Error)),
  );
}

@Controller('orders')
@Idempotent()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('plain')
  async plain() {
    void began.pass();
    const reason = await stopped(this.phase.current!.signal);
    return { stopped: reason.message };
  }

  @Post('with-phases')
  async withPhases() {
    void began.pass();
    await stopped(this.phase.current!.signal);
    // Code that ignores the signal and continues.
    await this.phase
      .local('order', (tx) => tx.query('INSERT INTO orders DEFAULT VALUES RETURNING 1'))
      .catch(() => undefined);
    await this.phase.foreign('charge', { call: async () => (called += 1) }).catch(() => undefined);
    return { done: true };
  }

  @Post('in-a-call')
  inACall() {
    return this.phase.foreign('charge', {
      call: async ({ signal }) => {
        void began.pass();
        throw await stopped(signal);
      },
    });
  }
}

forEachPlatform('A lost lease', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
    await app.database.query('CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY)');
  });
  afterAll(() => app.close());
  beforeEach(() => {
    began = barrier();
    called = 0;
  });

  /** What a takeover by another process does to the row. */
  function takeOver(key: string): Promise<unknown> {
    return app.database.query(
      `UPDATE idempotency_keys
       SET owner = '00000000-0000-4000-8000-00000000000a', attempt = attempt + 1,
           locked_until = now() + interval '1 minute'
       WHERE key = $1`,
      [key],
    );
  }

  it.each(['plain', 'with-phases', 'in-a-call'])(
    'is reported to the handler when another attempt took over, and nothing of it is kept (%s)',
    async (kind) => {
      const answer = send(`${app.url}/orders/${kind}`, { key: kind });
      await began.arrived();
      await takeOver(kind);
      const row = await writtenRow(app.database, kind);
      await heartbeat(app.app);

      expectRetryable(await answer, 409, 'lease_lost');
      expect(await writtenRow(app.database, kind)).toEqual(row);
      expect(await app.database.query('SELECT * FROM orders')).toEqual([]);
      expect(called).toBe(0);
    },
  );

  it('is reported to the handler when the key was removed', async () => {
    const answer = send(`${app.url}/orders/plain`, { key: 'removed' });
    await began.arrived();
    await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'removed'`);
    await heartbeat(app.app);

    expectRetryable(await answer, 409, 'lease_lost');
    expect(await writtenRow(app.database, 'removed')).toBeUndefined();
  });
});
