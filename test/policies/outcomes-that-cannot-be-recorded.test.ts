import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { refuseStatements } from '../support/store-faults.js';

const routes = new PolicyRoutes({ orders: { lease: 200 } });

forEachPlatform('An outcome that cannot be recorded', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller], logger: false });
  });
  afterAll(() => app.close());

  it('is not sent, and its key is not released', async () => {
    const ask = () => send(`${app.url}/orders`, { key: 'unrecorded' });
    routes.answers(() => ({ secret: 'result' }));
    const repair = await refuseStatements(app.database, 'UPDATE', 'unrecorded');
    const first = await ask();
    expect(first.status).toBe(503);
    expect(first.json()).toMatchObject({ code: 'store_unavailable', retryable: true });
    expect(first.text).not.toContain('secret');
    expect((await keyRow(app.database, 'unrecorded')).status).toBe('in_progress');
    // One that was on its way when the recording failed would renew the lease.
    await heartbeat(app.app);
    await repair();

    await lapse(app.database, 'unrecorded');
    const retry = await ask();
    expect([retry.status, retry.json().code]).toEqual([409, 'outcome_unknown']);
    expect(routes.executions).toBe(1);
  });
});
