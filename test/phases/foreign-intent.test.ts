import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { ForeignEffect } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases } from '../support/phase-app.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describePhases('The intent of a foreign phase', (app) => {
  it('is committed before the call, with the effect key and the request', async () => {
    const due = new Date(0);
    let effect!: ForeignEffect;
    let during!: unknown[];
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        request: { amount: 100, due, note: undefined },
        keyValidFor: '1h',
        call: async (given) => {
          effect = given;
          during = await app.phases('intent');
          return 'ch_1';
        },
      }),
    );

    expect((await app.post('charge', 'intent')).text).toBe('ch_1');
    expect(effect).toMatchObject({
      idempotencyKey: expect.stringMatching(UUID),
      request: { amount: 100, due: due.toISOString() },
      attempt: 1,
      signal: { aborted: false },
    });
    expect(during).toEqual([
      expect.objectContaining({
        name: 'charge_created',
        position: 1,
        kind: 'foreign',
        state: 'intended',
        attempt: 1,
        effect_key: effect.idempotencyKey,
        in_doubt: 'stop',
        request: { amount: 100, due: due.toISOString() },
        result: null,
        finished_at: null,
      }),
    ]);
    const [{ validFor }] = (await app.database.query(
      `SELECT extract(epoch FROM key_valid_until - started_at)::float8 AS "validFor"
       FROM idempotency_phases WHERE effect_key = $1`,
      [effect.idempotencyKey],
    )) as [{ validFor: number }];
    expect(Math.round(validFor)).toBe(3600);
  });

  it('leaves no transaction open during the call', async () => {
    let open: unknown[] | undefined;
    app.handle('charge', async (phases) => {
      await phases.local('ride_created', async () => 1);
      return phases.foreign('charge_created', {
        call: async () => {
          open = await app.database.query(
            `SELECT state, query FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
               AND backend_type = 'client backend'`,
          );
        },
      });
    });

    await app.post('charge', 'no-transaction');

    expect(open).toEqual([]);
  });

  it('renews the lease', async () => {
    let left: number | undefined;
    app.handle('charge', async (phases) => {
      await app.database.query(
        `UPDATE idempotency_keys SET locked_until = now() + interval '1 second' WHERE key = 'renewed'`,
      );
      return phases.foreign('charge_created', {
        call: async () => {
          [{ left }] = (await app.database.query(
            `SELECT extract(epoch FROM locked_until - last_run_at)::float8 AS left
             FROM idempotency_keys WHERE key = 'renewed'`,
          )) as [{ left: number }];
        },
      });
    });

    await app.post('charge', 'renewed');

    expect(left).toBeGreaterThan(29);
  });

  it('is not recorded, and no call is made, when another attempt owns the key', async () => {
    let calls = 0;
    app.handle('charge', async (phases) => {
      await app.database.query(
        `UPDATE idempotency_keys SET owner = '00000000-0000-4000-8000-00000000000a', attempt = 2 WHERE key = 'fenced'`,
      );
      return phases.foreign('charge_created', { call: async () => ++calls });
    });

    const answer = await app.post('charge', 'fenced');

    expect(answer.status).toBe(409);
    expect(answer.json()).toMatchObject({ code: 'lease_lost' });
    expect(calls).toBe(0);
    expect(await app.phases('fenced')).toEqual([]);
  });

  it.each([
    ['a request that JSON cannot hold', { request: 1n }, /The request of phase "charge_created"/],
    [
      'a keyValidFor that is no duration',
      { keyValidFor: 'a day' },
      /keyValidFor of phase "charge_created" is "a day".*'24h'/,
    ],
  ])('is not recorded with %s', async (_, option, message) => {
    const key = randomUUID();
    let calls = 0;
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', { ...option, call: async () => ++calls }),
    );

    expect((await app.post('charge', key)).status).toBe(500);
    expect(app.logs).toEqual([expect.stringMatching(message)]);
    expect(calls).toBe(0);
    expect(await app.phases(key)).toEqual([]);
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
  });
});
