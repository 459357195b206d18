import { Body, Controller, Get, Header, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { describeInBrowser, type Tab } from '../operator-page/browser.js';
import { barrier, type Barrier } from '../support/barrier.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { bundleForBrowsers } from './bundle.js';

/** What a page of a shop would do; `window.shop` is for the tests. */
const PAGE = `
  import { createIdempotentFetch, indexedDbKeys, resultOf } from './lib/client/index.js';
  const keys = indexedDbKeys();
  const send = createIdempotentFetch({ keys, minDelay: 10 });
  window.shop = {
    keys,
    order: async (operation, item) =>
      resultOf(
        await send('/orders', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ item }),
          operation,
        }),
      ),
  };
`;

let script = '';
let gate: Barrier;
const keysSeen = new Set<string>();

@Controller()
class ShopController {
  private orders = 0;

  @Get()
  @Header('content-type', 'text/html')
  page(): string {
    return '<!doctype html><title>Shop</title><link rel="icon" href="data:,"><script type="module" src="/client.js"></script>';
  }

  @Get('client.js')
  @Header('content-type', 'text/javascript')
  client(): string {
    return script;
  }

  @Post('orders')
  @Idempotent()
  async order(@Body() { item }: { item: string }) {
    this.orders += 1;
    const order = this.orders;
    await gate.pass();
    return { order, item };
  }
}

describeInBrowser('The client in a browser', (browser) => {
  beforeAll(async () => {
    script = await bundleForBrowsers(PAGE);
  });

  onEachPlatform((platform) => {
    let app: IdempotentApp;
    let tab: Tab;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [ShopController] });
      app.app.getHttpServer().on('request', ({ headers }: { headers: Record<string, string> }) => {
        if (headers['idempotency-key']) keysSeen.add(headers['idempotency-key']);
      });
    });
    beforeEach(async () => {
      gate = barrier();
      keysSeen.clear();
      tab = await browser.open();
      await tab.page.goto(app.url);
    });
    afterAll(() => app.close());

    const stored = (operation: string) =>
      tab.evaluate<{ key: string; attempts: number }>(
        `shop.keys.add('${operation}', { key: 'new', fingerprint: '', attempts: 0, expires: 0 })`,
      );

    it('sends a request, and forgets its key with the outcome', async () => {
      gate.open();
      const first = await tab.evaluate(`shop.order('order-1', 'rocket')`);
      expect(first).toEqual({ order: 1, item: 'rocket' });
      expect(await stored('order-1')).toMatchObject({ key: 'new' });
      expect(tab.complaints).toEqual([]);
    });

    it('goes on with its key after the page was reloaded', async () => {
      // Nobody waits for this one: the page goes away.
      await tab.evaluate(`void shop.order('order-2', 'rocket').catch(() => undefined)`);
      await gate.arrived();
      await tab.page.reload();
      const again = tab.evaluate<{ order: number }>(`shop.order('order-2', 'rocket')`);
      gate.open();
      expect(await again).toEqual({ order: 2, item: 'rocket' });
      expect(keysSeen.size).toBe(1);
    });

    it('notices another request under the same name', async () => {
      await tab.evaluate(`void shop.order('order-3', 'rocket').catch(() => undefined)`);
      await gate.arrived();
      const other = tab.evaluate(`shop.order('order-3', 'balloon')`);
      await expect(other).rejects.toThrow('"order-3" was begun with another request');
      gate.open();
    });

    it('has one key for two tabs', async () => {
      const second = await tab.page.browserContext().newPage();
      await second.goto(app.url);
      gate.open();
      const order = `shop.order('order-4', 'rocket')`;
      const [one, two] = await Promise.all([tab.evaluate(order), second.evaluate(order)]);
      expect(one).toEqual(two);
      expect(keysSeen.size).toBe(1);
    });
  });
});
