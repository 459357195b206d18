import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { onEachPlatform } from '../support/platforms.js';
import { startShop, type DriverName, type Shop } from './shop.js';

const CREATE = `mutation ($input: OrderInput!) {
  createOrder(input: $input) { id item createdAt state total note label dated lines { sku order { id label } } }
}`;

describe('Idempotent mutations', () => {
  describe('with Apollo', () => onEachPlatform((platform) => tests(platform, 'apollo')));
  describe('with Mercurius', () =>
    onEachPlatform((platform) => tests(platform, 'mercurius'), ['fastify']));
});

function tests(platform: Parameters<Parameters<typeof onEachPlatform>[0]>[0], driver: DriverName) {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop(platform, driver);
  });
  afterAll(() => shop?.close());
  beforeEach(() => {
    shop.desk.runs = 0;
    shop.desk.work = ({ item }) => shop.desk.order(item);
  });

  it('run once, and give every retry the same data', async () => {
    const variables = { input: { item: 'tea' } };
    const first = await shop.mutate(CREATE, { key: 'once', variables });
    expect(first).toMatchObject({
      status: 200,
      errors: undefined,
      data: {
        createOrder: {
          id: '1',
          createdAt: '2026-01-01T00:00:00.000Z',
          state: 'Paid',
          total: String(2n ** 60n + 1n),
          note: null,
          label: 'tea (1)',
          dated: 'tea (1) of 2026',
          lines: [{ sku: 'tea-1', order: { id: '1', label: 'tea (1)' } }],
        },
      },
    });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const retry = await shop.mutate(CREATE, { key: 'once', variables });
    expect(retry.data).toEqual(first.data);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(shop.desk.runs).toBe(1);
    expect(await shop.records('once')).toEqual({ 'MUTATION createOrder': 'completed' });
  });
}
