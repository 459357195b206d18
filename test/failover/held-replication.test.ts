import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent, severalHosts } from 'nestjs-atomic-idempotency';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';
import { until } from '../support/until.js';
import { Ledger, ORDERS_TABLE, ordersController } from './orders.js';
import { createTemplate, type ServerPair, type ServerTemplate } from './replicated-servers.js';

let template: ServerTemplate;
let pair: ServerPair;
beforeAll(async () => {
  template = await createTemplate([ORDERS_TABLE]);
  pair = await template.startPair();
});
afterAll(async () => {
  await pair.close();
  await template.remove();
});

describe('A standby that does not keep up', () => {
  onEachPlatform(
    (platform) => {
      // PostgreSQL makes a commit visible when its wait for the standby is cancelled, as it is after
      // storeTimeout: what the next try reads may still be lost by a failover.
      it('and is synchronous holds back answers until it has them', async () => {
        let executions = 0;

        @Controller('refunds')
        class RefundsController {
          @Post()
          @Idempotent()
          refund() {
            return { execution: ++executions };
          }
        }

        await pair.synchronous(true);
        const app = await startIdempotentApp(platform, {
          controllers: [RefundsController],
          database: pair.primary,
          idempotency: { storeTimeout: '1s', lease: '4s' },
          logger: false,
        });
        const refund = (key: string) => send(`${app.url}/refunds`, { key });
        const rowOf = async (key: string) =>
          (
            await pair.primary.query('SELECT status FROM idempotency_keys WHERE key = $1', [key])
          )[0];

        // The recording: the handler has run, and its outcome is visible on the primary alone.
        let release: (() => void) | undefined;
        const stopObserving = observeFaultPoints(async ({ name }) => {
          if (name === 'recording:before') release = await pair.holdReplication();
        });
        expectRetryable(await refund('recorded').finally(stopObserving), 503, 'store_unavailable');
        expect(await rowOf('recorded')).toEqual({ status: 'completed' });
        release!();
        const replay = await refund('recorded');
        expect(replay.json()).toEqual({ execution: 1 });
        expect(replay.headers.get('idempotent-replayed')).toBe('true');

        // The reservation: its process finds itself in the row, and still runs no handler that a
        // failover would forget.
        release = await pair.holdReplication();
        const refused = refund('reserved');
        await until(async () => {
          const waiting = await pair.primary.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
          );
          return waiting.length > 0;
        }, 'a reservation to wait for the standby');
        await until(() => rowOf('reserved'), 'the reservation to be visible on the primary');
        expectRetryable(await refused, 503, 'store_unavailable');
        expect(executions).toBe(1);
        release();
        await app.close();
        await pair.synchronous(false);
      });

      it('and is asynchronous loses answers and effect keys in a failover', async () => {
        const ledger = new Ledger();
        const hosts = [pair.primary, pair.standby].map(({ url }) => new URL(url).host).join();
        const app = await startIdempotentApp(platform, {
          controllers: [ordersController(ledger)],
          database: pair.primary,
          dataSource: { ...severalHosts(pair.primary.url.replace(/@[^/]*/, `@${hosts}`)) },
          idempotency: { storeTimeout: '25s', lease: '60s' },
          logger: false,
        });
        const order = (path: string, number: string) =>
          send(`${app.url}/${path}`, { key: number, body: { number } });

        await pair.holdReplication();
        expect((await order('orders', 'lost')).status).toBe(201);
        expect((await order('numbered-orders', 'known')).status).toBe(201);
        await pair.primary.kill();
        await pair.promote();

        // The promoted server has never heard of either key: both requests run again.
        for (const [path, number] of [
          ['orders', 'lost'],
          ['numbered-orders', 'known'],
        ] as const) {
          const retry = await order(path, number);
          expect(retry.status).toBe(201);
          expect(retry.headers.get('idempotent-replayed')).toBeNull();
        }
        // An effect key is random and was lost with its row, so the provider saw two of them …
        expect(new Set(ledger.of('lost')).size).toBe(2);
        // … unless it recognises the operation by something that the business knows.
        expect(ledger.of('known')).toHaveLength(1);
        await app.close();
      });
    },
    ['express'],
  );
});
