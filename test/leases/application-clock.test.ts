import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { heartbeat } from '../support/heartbeat.js';
import { send, type Received } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { expectRetryable } from '../support/refusals.js';

const CLOCKS = [
  { clock: 'ten years ahead', date: new Date('2036-01-01T00:00:00Z') },
  { clock: 'far behind', date: new Date('1971-01-01T00:00:00Z') },
];

/** Only what tells the date: timers must continue, as they do on a machine with a wrong clock. */
function setClock(now: Date): void {
  jest.useFakeTimers({
    now,
    doNotFake: [
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
      'setTimeout',
      'clearTimeout',
    ],
  });
}

forEachPlatform('The clock of the application', (platform) => {
  const routes = new PolicyRoutes({
    orders: { retention: '1h' },
    'resumable-orders': { onAbandoned: 'resume' },
  });
  let app: IdempotentApp;
  let gate: Barrier;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());
  afterEach(() => {
    jest.useRealTimers();
  });

  const order = (key: string, path = 'orders'): Promise<Received> =>
    send(`${app.url}/${path}`, { key });

  /** How far a time of the row is from the database's own, in seconds. */
  async function distance(key: string, column: string): Promise<number> {
    const [row] = await app.database.query(
      `SELECT extract(epoch FROM ${column} - now())::float8 AS seconds
       FROM idempotency_keys WHERE key = $1`,
      [key],
    );
    return row!.seconds;
  }

  describe.each(CLOCKS)('$clock', ({ clock, date }) => {
    const key = (name: string) => `${name}-${clock.replaceAll(' ', '-')}`;

    beforeEach(() => {
      setClock(date);
      gate = barrier();
      routes.answers(async (execution) => {
        await gate.pass();
        return { execution };
      });
    });

    it("does not affect leases and expiry: the database's clock decides", async () => {
      const first = order(key('leased'));
      await gate.arrived();
      expect(Math.abs(await distance(key('leased'), 'created_at'))).toBeLessThan(60);
      expect(Math.abs(await distance(key('leased'), 'locked_until'))).toBeLessThan(60);
      expect(await distance(key('leased'), 'expires_at')).toBeGreaterThan(3500);
      expect(await distance(key('leased'), 'expires_at')).toBeLessThanOrEqual(3600);

      // Heartbeats keep it alive, and a duplicate does not take it for dead.
      const { locked_until: before } = await keyRow(app.database, key('leased'));
      await heartbeat(app.app);
      const { locked_until: later } = await keyRow(app.database, key('leased'));
      expect(later.getTime()).toBeGreaterThan(before.getTime());
      expect(Math.abs(await distance(key('leased'), 'locked_until'))).toBeLessThan(60);
      expectRetryable(await order(key('leased')), 409, 'in_progress');

      gate.open();
      const answer = await first;
      expect(answer.status).toBe(201);
      const { expires_at: expiresAt } = await keyRow(app.database, key('leased'));
      expect(answer.headers.get('idempotency-key-expires')).toBe(expiresAt.toUTCString());
      const retry = await order(key('leased'));
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(routes.executions).toBe(1);
    });

    it('does not decide that an attempt is dead or an answer expired', async () => {
      const first = order(key('dead'), 'resumable-orders');
      await gate.arrived();
      await lapse(app.database, key('dead'));
      const second = order(key('dead'), 'resumable-orders');
      await gate.arrived(2);
      gate.open();
      expect((await second).json()).toEqual({ execution: 2 });
      expectRetryable(await first, 409, 'lease_lost');

      await app.database.query('UPDATE idempotency_keys SET expires_at = now() WHERE key = $1', [
        key('dead'),
      ]);
      const third = await order(key('dead'), 'resumable-orders');
      expect(third.json()).toEqual({ execution: 3 });
      expect(third.headers.get('idempotent-replayed')).toBeNull();
    });
  });
});
