import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { LOOK } from '../support/store-statements.js';
import { until } from '../support/until.js';
import { untilWaiting } from '../support/waiting.js';

const WAITING = 20;

forEachPlatform('Waiting duplicates', (platform) => {
  const routes = new PolicyRoutes({
    awaited: { onInProgress: 'wait', waitFor: '55s' },
    other: {},
  });
  let started: ProxiedApp | undefined;
  afterEach(() => started?.close());

  /** An application with two running requests and many that wait for them. */
  async function wait(connections: number) {
    const app = await startProxiedApp(platform, {
      controllers: [routes.controller],
      dataSource: { extra: { max: connections } },
    });
    started = app;
    const { url } = app;
    const gate = barrier();
    routes.answers((execution) => (execution <= 2 ? gate.pass() : {}));
    const keys = ['one', 'two'];
    const originals = keys.map((key) => send(`${url}/awaited`, { key }));
    await gate.arrived(2);

    const waiting = Array.from({ length: WAITING }, (_, i) =>
      send(`${url}/awaited`, { key: keys[i % 2]! }),
    );
    await untilWaiting(app, WAITING);
    return {
      app,
      /** Everybody else is served meanwhile. */
      async serveOthers() {
        for (let i = 0; i < 5; i++) {
          expect((await send(`${url}/other`, { key: randomUUID() })).status).toBe(201);
        }
      },
      async end() {
        gate.open();
        const answers = await Promise.all([...originals, ...waiting]);
        expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
      },
    };
  }

  it('hold no connection', async () => {
    const { app, serveOthers, end } = await wait(1);
    // Between two looks the pool has nothing to do, and nobody queues for it.
    const pool = (app.app.get(DataSource).driver as unknown as { master: Pool }).master;
    await until(() => pool.totalCount === 1 && pool.idleCount === 1, 'an idle connection');
    expect(pool.waitingCount).toBe(0);
    await serveOthers();
    await end();
    expect(routes.executions).toBe(2 + 5);
  });

  it('share one query, and send none when nobody waits', async () => {
    const { app, serveOthers, end } = await wait(5);
    const look = app.proxy.holdReply(LOOK);
    await look.reached;
    const looks = app.proxy.count(LOOK);
    await serveOthers();
    expect(app.proxy.count(LOOK)).toBe(looks);
    look.release();
    await until(() => app.proxy.count(LOOK) > looks, 'the next look');

    await end();
    // One may be on its way at this moment.
    await serveOthers();
    const after = app.proxy.count(LOOK);
    await serveOthers();
    expect(app.proxy.count(LOOK)).toBe(after);
  });
});
