import { Controller, Post } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { barrier, type Barrier } from '../support/barrier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, GIVE_BACK, HEARTBEAT, RESERVE } from '../support/store-statements.js';
import { until } from '../support/until.js';

let stuck: Barrier;
let attempts: number[];

const warnings: string[] = [];
const silent = { log: () => undefined, error: () => undefined };

@Controller('orders')
@Idempotent({ lease: '3s', onAbandoned: 'resume' })
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  /** Ends only when it is told to, as a handler does that watches its signal. */
  @Post('obedient')
  async obedient() {
    const { attempt, signal } = this.phase.current!;
    attempts.push(attempt);
    if (attempt === 1) {
      void stuck.pass();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    return { attempt };
  }
}

forEachPlatform('Shutdown after shutdownTimeout', (platform) => {
  let database: TestDatabase;
  let app: ProxiedApp;

  beforeEach(async () => {
    stuck = barrier();
    attempts = [];
    warnings.length = 0;
    database = await createTestDatabase();
    app = await start();
  });
  afterEach(() => database.drop());

  function start(options: { storeTimeout?: number } = {}): Promise<ProxiedApp> {
    return startProxiedApp(platform, {
      controllers: [OrdersController],
      idempotency: { shutdownTimeout: 200, ...options },
      logger: { ...silent, warn: (message: string) => warnings.push(message) },
      database,
    });
  }

  async function isLapsed(key: string): Promise<boolean> {
    const [row] = await database.query(
      `SELECT locked_until <= now() AS lapsed FROM idempotency_keys WHERE key = $1`,
      [key],
    );
    return row?.lapsed === true;
  }

  it('ends the lease of a request that did not finish in time, and tells the handler', async () => {
    const answer = send(`${app.url}/orders/obedient`, { key: 'stuck' });
    await stuck.arrived();
    const { locked_until: lockedUntil } = await keyRow(database, 'stuck');
    await app.close();

    // Nobody has taken the key over meanwhile, so what the handler did counts.
    expect((await answer).json()).toEqual({ attempt: 1 });
    const row = await keyRow(database, 'stuck');
    expect(row).toMatchObject({ status: 'completed', attempt: 1 });
    expect(row.locked_until.getTime()).toBeLessThan(lockedUntil.getTime());
  });

  it('lets another process take the key at once', async () => {
    const other = await start();
    try {
      const answer = send(`${app.url}/orders/obedient`, { key: 'handed-over' });
      await stuck.arrived();
      // The recording finds that another attempt owns the key.
      const recording = app.proxy.holdStatement(FINISH);
      const closing = app.close();
      await recording.reached;
      expect(await isLapsed('handed-over')).toBe(true);

      const second = await send(`${other.url}/orders/obedient`, { key: 'handed-over' });
      expect(second.json()).toEqual({ attempt: 2 });
      recording.release();
      expect((await answer).json()).toMatchObject({ code: 'lease_lost', retryable: true });
      await closing;
      expect(attempts).toEqual([1, 2]);
    } finally {
      await other.close();
    }
  });

  it('is not undone by a heartbeat that was under way', async () => {
    const heartbeat = app.proxy.holdStatement(HEARTBEAT);
    const answer = send(`${app.url}/orders/obedient`, { key: 'renewed' });
    await heartbeat.reached;
    const recording = app.proxy.holdStatement(FINISH);
    const closing = app.close();
    await until(() => warnings.some((warning) => warning.includes('did not finish')), 'a warning');
    // Whatever shutdown has sent by now would be carried out before these.
    for (let i = 0; i < 3; i++) await app.app.get(DataSource).query('SELECT 1');
    heartbeat.release();
    await Promise.all([heartbeat.answered, recording.reached]);

    expect(await isLapsed('renewed')).toBe(true);
    recording.release();
    await answer;
    await closing;
  });

  it('says which reservations it could not wait for, once', async () => {
    const impatient = await start({ storeTimeout: 1_000 });
    impatient.proxy.holdReply(RESERVE);
    impatient.proxy.holdStatement(GIVE_BACK);
    const refused = await send(`${impatient.url}/orders/obedient`, { key: 'given-up' });
    expect(refused.json()).toMatchObject({ code: 'store_unavailable' });
    await impatient.close();
    await app.close();

    expect(warnings.filter((warning) => warning.includes('reservation'))).toEqual([
      expect.stringMatching(/^1 reservation\(s\) were neither decided nor withdrawn within 200 ms/),
    ]);
    expect(await keyRow(database, 'given-up')).toMatchObject({ status: 'in_progress' });
  });
});
