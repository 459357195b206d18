import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { InternalServerErrorException } from '@nestjs/common';
import { send, type Received } from '../support/http.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { RESERVE, TAKE_OVER } from '../support/store-statements.js';

// An attempt makes its owner id before its first statement. When it asks again
// after a lost reply, it finds its own row and knows that the key is its own.
forEachPlatform('The lost reply to a reservation', (platform) => {
  const routes = new PolicyRoutes({ orders: {} });
  let app: ProxiedApp;

  beforeAll(async () => {
    app = await startProxiedApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers((execution) => ({ execution })));

  const order = (key: string): Promise<Received> => send(`${app.url}/orders`, { key, body: {} });

  async function expectReplay(key: string, first: Received): Promise<void> {
    const executions = routes.executions;
    const retry = await order(key);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(retry.body).toEqual(first.body);
    expect(routes.executions).toBe(executions);
  }

  it('does not prevent the request from running once', async () => {
    const lost = app.proxy.loseReply(RESERVE);
    const first = await order('reserved');
    await lost;

    expect(first.status).toBe(201);
    expect(routes.executions).toBe(1);
    expect(await keyRow(app.database, 'reserved')).toMatchObject({
      status: 'completed',
      attempt: 1,
    });
    await expectReplay('reserved', first);
  });

  it('does not prevent it either if the reservation never arrived', async () => {
    const lost = app.proxy.loseStatement(RESERVE);
    const first = await order('never-arrived');
    await lost;

    expect(first.status).toBe(201);
    expect(routes.executions).toBe(1);
    await expectReplay('never-arrived', first);
  });

  it('that is a takeover does not prevent the attempt from running once', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new InternalServerErrorException();
      return { execution };
    });
    expect((await order('taken-over')).status).toBe(500);

    const lost = app.proxy.loseReply(TAKE_OVER);
    const second = await order('taken-over');
    await lost;

    expect(second.status).toBe(201);
    expect(routes.executions).toBe(2);
    expect(await keyRow(app.database, 'taken-over')).toMatchObject({
      status: 'completed',
      attempt: 2,
    });
    await expectReplay('taken-over', second);
  });
});
