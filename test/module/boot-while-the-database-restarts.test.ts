import { expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { nth, startPostgresProxy } from '../support/postgres-proxy.js';
import { recordingLogger } from '../support/recording-logger.js';

forEachPlatform('The boot check', (platform) => {
  it('is repeated when it loses its connection', async () => {
    const database = await createTestDatabase();
    const proxy = await startPostgresProxy(database.url);
    const routes = new PolicyRoutes({ orders: {} });
    const logger = recordingLogger();
    const lost = [
      proxy.loseStatement(/pg_is_in_recovery\(\) AS standby/),
      proxy.loseReply(nth(2, /pg_attribute/)),
      proxy.loseReply(/has_sequence_privilege/),
    ];
    const app = await startIdempotentApp(platform, {
      database,
      dataSource: { url: proxy.url },
      controllers: [routes.controller],
      logger,
    });
    await Promise.all(lost);

    expect(logger.warnings.filter((line) => line.includes('Trying again'))).toHaveLength(3);
    expect((await send(`${app.url}/orders`, { key: 'k' })).status).toBe(201);
    await app.close();
    await proxy.close();
    await database.drop();
  });
});
