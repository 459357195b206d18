import { BadRequestException, Controller, Param, Post, type PipeTransform } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { FINISH, GIVE_BACK, HEARTBEAT } from '../support/store-statements.js';
import { untilBlocked, withTransaction } from '../support/transactions.js';
import { until } from '../support/until.js';

let executions = 0;
const signals = new Map<string, AbortSignal>();

const refuse: PipeTransform = {
  transform() {
    throw new BadRequestException();
  },
};

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('orders')
  @Idempotent()
  create() {
    const { key, signal } = this.phase.current!;
    signals.set(key, signal);
    return { execution: ++executions };
  }

  @Post('short/orders')
  @Idempotent({ lease: '3s' })
  createWithShortLease() {
    return this.create();
  }

  @Post('refused/:item')
  @Idempotent()
  refused(@Param('item', refuse) item: string) {
    return { item, execution: ++executions };
  }
}

forEachPlatform('The lost reply to a recording', (platform) => {
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [OrdersController] });
  });
  afterAll(() => app.close());

  function order(key: string, path = 'orders'): Promise<Received> {
    return send(`${app.url}/${path}`, { key, body: {} });
  }

  async function expectRecorded(key: string, first: Received, path?: string): Promise<void> {
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'completed', attempt: 1 });
    const ran = executions;
    const retry = await order(key, path);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(first.body);
    expect(executions).toBe(ran);
  }

  it('does not prevent the answer from being sent', async () => {
    const lost = app.proxy.loseReply(FINISH);
    const first = await order('recorded');
    await lost;

    await expectRecorded('recorded', first);
  });

  it('does not prevent it either if the first recording still runs when the second one arrives', async () => {
    // The second recording finds a connection at once: the first waits for its lock a moment only.
    const runners = [1, 2].map(() => app.app.get(DataSource).createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    await Promise.all(runners.map((runner) => runner.release()));
    const finishes = app.proxy.count(FINISH);
    const first = await withTransaction(app.database, async (tx) => {
      const held = app.proxy.holdStatement(FINISH);
      const answer = order('overtaken');
      await held.reached;
      await tx.query(`SELECT id FROM idempotency_keys WHERE key = 'overtaken' FOR UPDATE`);
      held.release();
      await untilBlocked(app.database, 1);
      // The server finishes what it has started, for a client that is gone.
      app.proxy.cutBusy();
      await until(() => app.proxy.count(FINISH) >= finishes + 2, 'the second recording');
      await tx.query('COMMIT');
      return answer;
    });

    expect(app.proxy.count(FINISH)).toBeGreaterThanOrEqual(finishes + 2);
    await expectRecorded('overtaken', first);
  });

  it('is not treated as a lost lease by a heartbeat that comes in between', async () => {
    const recorded = app.proxy.holdReply(FINISH);
    const answer = order('beaten', 'short/orders');
    await recorded.reached;
    const heartbeat = app.proxy.holdReply(HEARTBEAT);
    await heartbeat.reached;
    heartbeat.release();
    // By the end of this exchange the application has read what came before it.
    expect((await order('bystander')).status).toBe(201);
    recorded.cut();

    await expectRecorded('beaten', await answer, 'short/orders');
    expect(signals.get('beaten')?.aborted).toBe(false);
  });

  it('that gives a key back does not give it back twice', async () => {
    const lost = app.proxy.loseReply(GIVE_BACK);
    const answer = await order('given-back', 'refused/boat');
    await lost;

    expect(answer.status).toBe(400);
    expect(answer.json().message).toBe('Bad Request');
    await expect(keyRow(app.database, 'given-back')).rejects.toThrow('no row');
  });
});
