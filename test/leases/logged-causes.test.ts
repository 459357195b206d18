import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { recordingLogger } from '../support/recording-logger.js';
import { refuseStatements } from '../support/store-faults.js';
import { until } from '../support/until.js';

forEachPlatform('Logged causes', (platform) => {
  describe('The log of a process whose statements are refused', () => {
    const routes = new PolicyRoutes({ orders: { lease: 900 } });
    const logger = recordingLogger();
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [routes.controller], logger });
    });
    afterAll(() => app.close());

    it("has the database's message for heartbeats and for recordings", async () => {
      const gate = barrier();
      routes.answers(() => gate.pass());
      const answer = send(`${app.url}/orders`, { key: 'refused' });
      await gate.arrived();
      const repair = await refuseStatements(app.database, 'UPDATE', 'refused');
      const words = 'refused by the test (P0001)';
      await until(
        () =>
          logger.warnings.some((line) => /^Leases.*tried again/.test(line) && line.includes(words)),
        'a heartbeat that failed',
      );
      gate.open();
      expect((await answer).status).toBe(503);
      expect(logger.errors.join('\n')).toMatch(
        /could not be recorded within its lease.*refused by the test \(P0001\)/,
      );
      await repair();
    });
  });

  describe('A connection that fails before TypeORM listens to it', () => {
    it('does not end the process', async () => {
      const app = await startIdempotentApp(platform, { logger: false });
      const { master } = app.app.get(DataSource).driver as unknown as { master: Pool };
      const client = await master.connect();
      // Without a listener, this would throw, and the process end.
      expect(client.emit('error', new Error('Connection terminated unexpectedly'))).toBe(true);
      client.release(true);
      await app.close();
    });
  });
});
