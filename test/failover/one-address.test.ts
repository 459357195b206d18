import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { severalHosts } from 'nestjs-atomic-idempotency';
import { TimelineFence } from '../../lib/postgres/timeline-fence.js';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { startPostgresProxy } from '../support/postgres-proxy.js';
import { recordingLogger } from '../support/recording-logger.js';
import { expectRetryable } from '../support/refusals.js';
import { createTemplate, type ServerPair, type ServerTemplate } from './replicated-servers.js';

let template: ServerTemplate;
let pair: ServerPair;
beforeAll(async () => {
  template = await createTemplate([]);
  pair = await template.startPair();
});
afterAll(async () => {
  await pair.close();
  await template.remove();
});

function bothHosts({ primary, standby }: ServerPair): string {
  const hosts = [primary, standby].map(({ url }) => new URL(url).host);
  return primary.url.replace(/@[^/]*/, `@${hosts.join()}`);
}

async function portOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ port: number }>('SELECT inet_server_port() AS port');
  return rows[0]!.port;
}

describe('An address that leads to another server', () => {
  onEachPlatform(
    (platform) => {
      it('gives 503 while that is a standby, works after its promotion, and never writes to an old primary', async () => {
        const routes = new PolicyRoutes({ orders: {} });
        routes.answers((execution) => ({ execution }));
        const logger = recordingLogger();
        const hosts = severalHosts(bothHosts(pair));
        const address = await startPostgresProxy(pair.primary.url);
        const app = await startIdempotentApp(platform, {
          controllers: [routes.controller],
          database: pair.primary,
          dataSource: { url: address.url },
          idempotency: { storeTimeout: '1s' },
          logger,
        });
        const order = (key: string) => send(`${app.url}/orders`, { key });
        const keysOn = async (server: typeof pair.primary) =>
          (
            await server.query<{ key: string }>('SELECT key FROM idempotency_keys ORDER BY key')
          ).map(({ key }) => key);
        expect((await order('before')).status).toBe(201);

        address.leadTo(pair.standby.url);
        expectRetryable(await order('on-a-standby'), 503, 'store_unavailable');
        expect(routes.executions).toBe(1);
        expect(logger.errors.join()).toContain('read-only transaction (25006)');
        // The pool keeps this connection, which is told no timeline until the promotion.
        await app.app.get(DataSource).query('SELECT 1');

        const pool = new Pool({ connectionString: hosts.url, ...hosts.extra, max: 2 });
        pool.on('error', () => undefined);
        (await pool.connect()).release();
        const fence = new TimelineFence(5_000);
        fence.install(pool);
        // Older than the fence, so it is asked now.
        const open = await pool.connect();
        const closed = new Promise<Error>((resolve) => open.on('error', resolve));

        // Nobody stops the old primary: two servers accept writes now.
        await pair.promote();

        // One new connection, wherever it leads, and the promotion is known: older ones are closed.
        await pool.connect().then(
          (client) => client.release(true),
          () => undefined,
        );
        expect((await closed).message).toContain('another one was promoted after it');
        open.release(true);
        expect(await portOf(pool)).toBe(Number(new URL(pair.standby.url).port));
        fence.uninstall();
        await pool.end();

        expect((await order('on-a-standby')).status).toBe(201);
        expect(routes.executions).toBe(2);

        const written = await keysOn(pair.primary);
        address.leadTo(pair.primary.url);
        expectRetryable(await order('on-the-old-primary'), 503, 'store_unavailable');
        expect(routes.executions).toBe(2);
        expect(await keysOn(pair.primary)).toEqual(written);
        expect(logger.errors.join()).toContain('Stop the old primary');

        address.leadTo(pair.standby.url);
        expect((await order('on-the-old-primary')).status).toBe(201);
        expect(await keysOn(pair.standby)).toEqual([
          'before',
          'on-a-standby',
          'on-the-old-primary',
        ]);
        await app.close();
        await address.close();
      });
    },
    ['express'],
  );

  // After the test above: the first of the two hosts is the old primary.
  it('among several hosts, the server that was promoted last is used, whatever the order', async () => {
    const { extra, url } = severalHosts(`${bothHosts(pair)}?target_session_attrs=read-write`);
    const pool = new Pool({ connectionString: url, ...extra, max: 2 });
    expect(await portOf(pool)).toBe(Number(new URL(pair.standby.url).port));
    await pool.end();
  });

  it('among several hosts of which none accepts writes, each one is named with its reason', async () => {
    const nobody = await startPostgresProxy(pair.primary.url);
    const { host } = new URL(nobody.url);
    await nobody.close();
    const { extra, url } = severalHosts(pair.primary.url.replace(/@[^/]*/, `@${host},${host}`));
    const pool = new Pool({ connectionString: url, ...extra });
    await expect(pool.query('SELECT 1')).rejects.toThrow(
      /^Connection terminated: no host accepts writes \(127\.0\.0\.1:\d+: .*ECONNREFUSED.*; 127/,
    );
    await pool.end();
  });
});
