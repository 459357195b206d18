import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { until } from '../support/until.js';

let gate: Barrier;
let finish: Barrier;
const POOL = 2;

@Controller()
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('orders')
  @Idempotent()
  async order(): Promise<object> {
    return this.phase.local('ordered', async (tx) => {
      await tx.query('SELECT 1'); // it has a connection
      await gate.pass();
      return { ordered: true };
    });
  }

  @Post('plain')
  @Idempotent()
  async plain(): Promise<object> {
    await finish.pass();
    return {};
  }
}

forEachPlatform('Exhausted pools', (platform) => {
  describe('Handlers that hold every connection of the pool', () => {
    const logger = recordingLogger();
    let app: IdempotentApp;
    let other: IdempotentApp;
    beforeAll(async () => {
      gate = barrier();
      const options = {
        controllers: [OrdersController],
        idempotency: { storeTimeout: '3s' },
        logger,
      };
      app = await startIdempotentApp(platform, { ...options, dataSource: { poolSize: POOL } });
      other = await startIdempotentApp(platform, { ...options, database: app.database });
    });
    afterAll(async () => {
      await other.close();
      await app.close();
    });

    it('do not lose their leases, and another process does not take their keys', async () => {
      const keys = ['a', 'b'];
      const orders = keys.map((key) => send(`${app.url}/orders`, { key }));
      await gate.arrived(POOL);
      // As late as a heartbeat can be.
      for (const key of keys) await lapse(app.database, key);
      await heartbeat(app.app);
      await runJob(other, 'sweeper');
      for (const key of keys) {
        expect(await keyRow(app.database, key)).toMatchObject({
          status: 'in_progress',
          attempt: 1,
        });
        expect((await send(`${other.url}/orders`, { key })).status).toBe(409);
      }
      gate.open();
      expect((await Promise.all(orders)).map(({ status }) => status)).toEqual([201, 201]);
    });

    it('do not prevent the outcome of another request from being recorded', async () => {
      gate = barrier();
      finish = barrier();
      const finishing = send(`${app.url}/plain`, { key: 'finishing' });
      await finish.arrived();
      const orders = ['e', 'f'].map((key) => send(`${app.url}/orders`, { key }));
      await gate.arrived(POOL);
      finish.open();
      expect((await finishing).status).toBe(201);
      expect(await keyRow(app.database, 'finishing')).toMatchObject({ status: 'completed' });
      gate.open();
      await Promise.all(orders);
    });

    it('are reported in the log as a pool that is too small', async () => {
      gate = barrier();
      const orders = ['c', 'd'].map((key) => send(`${app.url}/orders`, { key }));
      await gate.arrived(POOL);
      expect((await send(`${app.url}/orders`, { key: 'starved' })).status).toBe(503);
      gate.open();
      await Promise.all(orders);
      await until(
        () =>
          logger.warnings.some((line) => line.includes('the pool of the data source is too small')),
        'the warning',
      );
      expect(logger.warnings.find((line) => line.includes('too small'))).toMatch(
        /2 of 2 connections are open.*Raise poolSize/,
      );
    });
  });
});
