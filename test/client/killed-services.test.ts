import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createIdempotentFetch, resultOf } from 'nestjs-atomic-idempotency/client';
import { FAULT_STEPS } from 'nestjs-atomic-idempotency/testing';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import type { PlatformName } from '../support/listen.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const SHOP_POINTS = [
  'reserved',
  'order_created:before_commit',
  'order_created:after_commit',
  'reserved_item:before_intent',
  'reserved_item:after_intent',
  'reserved_item:after_call',
  'reserved_item:before_commit',
  'reserved_item:after_commit',
  'recording:before',
  'recording:after',
];
const WAREHOUSE_POINTS = [
  'reserved',
  'reservation_made:before_commit',
  'reservation_made:after_commit',
  'recording:before',
  'recording:after',
];

/** A service that can be killed, and started again at the same address. */
class Service {
  process!: ServerProcess;

  constructor(
    private readonly role: 'shop' | 'warehouse',
    private readonly platform: PlatformName,
    readonly database: TestDatabase,
    private readonly env: () => Record<string, string>,
  ) {}

  async start(port = 0): Promise<void> {
    const env = { ROLE: this.role, DATABASE: this.database.url, ...this.env() };
    const { platform } = this;
    this.process = await startServer('test/servers/two-services', { platform, port, env });
  }

  /** Once its process is gone. Nobody has to wait for the leases of the dead. */
  async startAgain(): Promise<void> {
    await this.process.exited;
    await this.database.query(
      `UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE status = 'in_progress'`,
    );
    await this.start(Number(new URL(this.process.url).port));
  }

  async things(item: string): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      'SELECT id FROM things WHERE item = $1',
      [item],
    );
    return rows.map(({ id }) => id);
  }
}

async function databaseOfThings(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query('CREATE TABLE things (id serial, item text NOT NULL)');
  return database;
}

describe('Two services that use the client', () => {
  describe.each<[PlatformName, PlatformName]>([
    ['express', 'fastify'],
    ['fastify', 'express'],
  ])('on %s and on %s', (shopPlatform, warehousePlatform) => {
    let shop: Service;
    let warehouse: Service;
    beforeAll(async () => {
      const databases = await Promise.all([databaseOfThings(), databaseOfThings()]);
      warehouse = new Service('warehouse', warehousePlatform, databases[0], () => ({}));
      shop = new Service('shop', shopPlatform, databases[1], () => ({
        WAREHOUSE: warehouse.process.url,
      }));
      await warehouse.start();
      await shop.start();
    });
    afterAll(async () => {
      await Promise.all([shop, warehouse].map((service) => service.process.kill()));
      await Promise.all([shop, warehouse].map((service) => service.database.drop()));
    });

    /** The client of both: it goes on until the shop is back, and knows nothing of the warehouse. */
    async function order(item: string) {
      const send = createIdempotentFetch({ retries: 35, maxDelay: 4_000, timeout: 300_000 });
      const response = await send(`${shop.process.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ item }),
      });
      return resultOf<{ order: string; reservation: string }>(response);
    }

    async function expectOnce(item: string, made: Awaited<ReturnType<typeof order>>) {
      const things = { orders: await shop.things(item), reserved: await warehouse.things(item) };
      expect({ item, ...things }).toEqual({
        item,
        orders: [made.order],
        reserved: [made.reservation],
      });
    }

    /** An order for each point, each of which stays there. */
    async function stopAtEach(service: Service, points: readonly string[], name: string) {
      const orders: { item: string; made: ReturnType<typeof order> }[] = [];
      for (const point of points) {
        const item = `${name} at ${point}`;
        await service.process.ask('stopAt', point);
        orders.push({ item, made: order(item) });
        expect(await service.process.event('stopped')).toBe(point);
      }
      return orders;
    }

    async function expectEachOnce(orders: Awaited<ReturnType<typeof stopAtEach>>) {
      for (const { item, made } of orders) await expectOnce(item, await made);
    }

    it('are killed at every point that a request passes', async () => {
      await expectOnce('undisturbed', await order('undisturbed'));
      expect(await shop.process.ask('passed')).toEqual(SHOP_POINTS);
      expect(await warehouse.process.ask('passed')).toEqual(WAREHOUSE_POINTS);
      const steps = SHOP_POINTS.map((point) => FAULT_STEPS.find((step) => point.endsWith(step)));
      expect(new Set(steps)).toEqual(new Set(FAULT_STEPS));
    });

    it('act once if the first is killed', async () => {
      const orders = await stopAtEach(shop, SHOP_POINTS, 'shop killed');
      await shop.process.kill();
      await shop.startAgain();
      await expectEachOnce(orders);
    });

    it('act once if the second is killed', async () => {
      const orders = await stopAtEach(warehouse, WAREHOUSE_POINTS, 'warehouse killed');
      await warehouse.process.kill();
      await warehouse.startAgain();
      await expectEachOnce(orders);
    });

    it('act once if both are killed', async () => {
      const orders = await stopAtEach(warehouse, WAREHOUSE_POINTS, 'both killed');
      await Promise.all([warehouse.process.kill(), shop.process.kill()]);
      await warehouse.startAgain();
      await shop.startAgain();
      await expectEachOnce(orders);
    });

    it('have the same definite no, which is asked for once', async () => {
      const item = `no rockets for ${shopPlatform}`;
      const key = crypto.randomUUID();
      const send = createIdempotentFetch();
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ item }),
        idempotencyKey: key,
      };
      for (const replayed of [null, 'true']) {
        const response = await send(`${shop.process.url}/orders`, init);
        expect([response.status, await response.json()]).toEqual([410, { message: 'sold out' }]);
        expect(response.headers.get('idempotent-replayed')).toBe(replayed);
      }
      const [phase] = await shop.database.query(
        `SELECT state FROM idempotency_phases
         WHERE key_id = (SELECT id FROM idempotency_keys WHERE key = $1) AND name = 'reserved_item'`,
        [key],
      );
      expect(phase).toEqual({ state: 'rejected' });
    });
  });
});
