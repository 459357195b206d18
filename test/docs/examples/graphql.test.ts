import { expect, it } from '@jest/globals';
import { Query, Resolver } from '@nestjs/graphql';
import { graphql, mutate } from '../../graphql/shop.js';
import { startIdempotentApp } from '../../support/idempotent-app.js';
import { forEachPlatform } from '../../support/platforms.js';
import { OrdersResolver } from './orders.resolver.js';

@Resolver()
class Queries {
  @Query(() => String)
  ping(): string {
    return 'pong';
  }
}

forEachPlatform(
  'The guide to GraphQL',
  (platform) => {
    it('has a resolver that places an order once', async () => {
      const { url, database, close } = await startIdempotentApp(platform, {
        imports: [graphql('apollo')],
        providers: [OrdersResolver, Queries],
      });
      await database.query(
        'CREATE TABLE orders (id bigserial, item text NOT NULL, quantity int NOT NULL)',
      );
      const document = 'mutation { placeOrder(item: "tea", quantity: 2) { id placedAt } }';
      const first = await mutate(url, document, { key: 'guide' });
      expect(first.data.placeOrder).toEqual({ id: '1', placedAt: expect.any(String) });
      expect((await mutate(url, document, { key: 'guide' })).data).toEqual(first.data);
      expect(await database.query('SELECT item, quantity FROM orders')).toEqual([
        { item: 'tea', quantity: 2 },
      ]);
      const other = document.replace('2', '3');
      expect((await mutate(url, other, { key: 'guide' })).errors).toMatchObject([
        { extensions: { code: 'key_reused' } },
      ]);
      const cancel = 'mutation { cancelOrder(reference: "r", id: "1") }';
      for (let call = 1; call <= 2; call++) {
        expect((await mutate(url, cancel)).data).toEqual({ cancelOrder: '1 (r)' });
      }
      await close();
    });
  },
  ['express'],
);
