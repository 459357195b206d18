import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KeyStatus } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

forEachPlatform('Another request with the same key', (platform) => {
  describe('is refused and changes nothing', () => {
    const routes = new PolicyRoutes({ orders: {}, waiting: { onInProgress: 'wait' } });
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [routes.controller] });
    });
    afterAll(() => app.close());

    async function expectRefusal(path: string, key: string): Promise<void> {
      const before = await keyRow(app.database, key);
      const answer = await send(`${app.url}/${path}`, { key, body: { other: true } });
      expect(answer.status).toBe(422);
      expect(answer.json()).toMatchObject({ code: 'key_reused' });
      expect(await keyRow(app.database, key)).toEqual(before);
    }

    it.each(['orders', 'waiting'])('while the first one runs (POST /%s)', async (path) => {
      const gate = barrier();
      routes.answers(async () => {
        await gate.pass();
        return {};
      });
      const first = send(`${app.url}/${path}`, { key: `running-${path}`, body: {} });
      await gate.arrived();
      await expectRefusal(path, `running-${path}`);
      gate.open();
      expect((await first).status).toBe(201);
      expect(routes.executions).toBe(1);
    });

    it.each<KeyStatus>(['pending', 'completed', 'failed_retryable', 'unknown'])(
      'when the key is %s',
      async (status) => {
        routes.answers(() => ({}));
        await send(`${app.url}/orders`, { key: status, body: {} });
        await app.database.query('UPDATE idempotency_keys SET status = $1 WHERE key = $1', [
          status,
        ]);
        await expectRefusal('orders', status);
        expect(routes.executions).toBe(1);
      },
    );

    it('when the attempt has been abandoned', async () => {
      routes.answers(() => ({}));
      await send(`${app.url}/orders`, { key: 'abandoned', body: {} });
      await app.database.query(
        `UPDATE idempotency_keys SET status = 'in_progress' WHERE key = 'abandoned'`,
      );
      await lapse(app.database, 'abandoned');
      await expectRefusal('orders', 'abandoned');
      expect(routes.executions).toBe(1);
    });
  });
});
