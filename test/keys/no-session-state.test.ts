import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Received } from '../support/http.js';
import { lapse } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { HEARTBEAT, LOOK } from '../support/store-statements.js';
import { until } from '../support/until.js';

/**
 * What would stay behind on a connection, or needs one of its own, or NOTIFY's
 * global lock. A setting that ends with its statement does not.
 */
const SESSION_STATE =
  /^\s*(SET\s+(?!TRANSACTION)(?!LOCAL)|RESET|LISTEN|UNLISTEN|NOTIFY|PREPARE|EXECUTE|DEALLOCATE|DECLARE|FETCH|DISCARD|LOAD|LOCK|CREATE\s+TEMP)|pg_(try_)?advisory_lock|set_config\((?![^)]*, true\))|pg_notify|\bWITH HOLD\b|nextval|currval/i;

let gate = barrier();

@Controller('orders')
@Idempotent({ lease: '5s', onInProgress: 'wait', waitFor: '30s', onAbandoned: 'resume' })
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  async create() {
    await this.phase.local('order', (tx) => tx.query('SELECT 1 AS one'));
    await gate.pass();
    return this.phase.foreign('charge', { call: async () => ({ charged: true }) });
  }
}

// A proxy that pools transactions (PgBouncer) may give every transaction
// another connection, so nothing may depend on what an earlier one left there.
forEachPlatform('The state of a database session', (platform) => {
  let app: ProxiedApp;

  beforeAll(async () => {
    gate = barrier();
    app = await startProxiedApp(platform, {
      controllers: [OrdersController],
      idempotency: { shutdownTimeout: 100, preparedStatements: false },
      logger: false,
    });
  });
  afterAll(() => app.close());

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key });

  it('is the same before and after each kind of work', async () => {
    const booted = app.proxy.statements.length;
    const first = order('pooled');
    await gate.arrived();
    const waiting = order('pooled');
    await until(() => app.proxy.count(LOOK) > 0 && app.proxy.count(HEARTBEAT) > 0, 'lease keeping');
    // Again and again, because the running attempt's heartbeat may come in between.
    await until(async () => {
      await lapse(app.database, 'pooled');
      return gate.count >= 2;
    }, 'a takeover');
    gate.open();
    const answers = await Promise.all([first, waiting, order('pooled')]);
    expect(answers.filter((answer) => answer.status === 201)).not.toEqual([]);

    const sent = app.proxy.statements.slice(booted);
    expect(sent.filter(({ sql }) => sql.includes('idempotency_')).length).toBeGreaterThan(8);
    expect(sent.filter(({ sql }) => SESSION_STATE.test(sql))).toEqual([]);
    // A named prepared statement lives on the connection that prepared it.
    expect(sent.filter(({ name }) => name !== '')).toEqual([]);
  });
});
