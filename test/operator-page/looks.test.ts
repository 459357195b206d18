import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { forEachPlatform } from '../support/platforms.js';
import { insertKey } from '../operator/key-states.js';
import { describeInBrowser } from './browser.js';
import {
  insertDeadLetter,
  insertUnknown,
  startPageApp,
  type MadeKey,
  type PageApp,
} from './page-app.js';

describeInBrowser('The operator page', (browser) => {
  forEachPlatform((platform) => {
    let app: PageApp;
    let unknown: MadeKey;
    beforeAll(async () => {
      app = await startPageApp(platform, { environment: 'staging' });
      const { database } = app;
      unknown = await insertUnknown(database, { key: 'ride-2f6c1' });
      await insertUnknown(database, {
        key: 'ride-90aa7',
        age: '40 minutes',
        route: '/rides/:id/tips',
      });
      for (const state of ['completed', 'failed', 'performed', 'unknown, no phase'] as const)
        await insertKey(database, state);
      await insertDeadLetter(database);
      await database.query(`INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, created_at, method, route, expires_at)
        SELECT 'acme', 'load-' || n, '', gen_random_uuid(), CASE WHEN n % 37 = 0 THEN 'failed_retryable' ELSE 'completed' END, now(),
               now() - random() * random() * interval '70 minutes', 'POST', '/rides', now() + interval '1 day' FROM generate_series(1, 900) n`);
    });
    afterAll(() => app.close());

    it('looks', async () => {
      const tab = await browser.open('ada');
      for (const scheme of ['light', 'dark'])
        for (const width of [1280, 390]) {
          await tab.page.setViewport({ width, height: 800, deviceScaleFactor: 1 });
          await tab.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
          for (const [name, path] of [
            ['overview', ''],
            ['keys', '/keys?route=/rides'],
            ['key', `/key?id=${unknown.id}&values=shown`],
            ['letters', '/letters?values=shown'],
          ] as const) {
            await tab.page.goto(`${app.page}${path}`);
            await browser.shoot(tab.page, `${platform.name}-${name}-${scheme}-${width}`);
          }
        }
      expect(tab.complaints).toEqual([]);
    });
  });
});
