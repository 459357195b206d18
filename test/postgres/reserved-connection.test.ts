import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Database } from '../../lib/postgres/database.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';

const ASKED_FOR_ITS_TIMELINE = /pg_control_system/;

forEachPlatform(
  'The connection for heartbeats',
  (platform) => {
    let app: ProxiedApp;
    beforeAll(async () => {
      app = await startProxiedApp(platform, {});
    });
    afterAll(() => app.close());

    // An error without a listener would end the process.
    it('may break before it has been used', async () => {
      const database = app.app.get(Database);
      const heartbeat = () => database.query('SELECT 1 AS one', [], 'reserved');
      const asked = app.proxy.holdStatement(ASKED_FOR_ITS_TIMELINE);
      const first = heartbeat();
      await asked.reached;
      asked.cut();

      await expect(first).rejects.toThrow('The database refused or lost a statement');
      expect(await heartbeat()).toEqual([{ one: 1 }]);
    });
  },
  ['express'],
);
