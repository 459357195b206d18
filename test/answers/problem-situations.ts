import type { ProblemCode } from '../../lib/answers/problems.js';
import type { Limits } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send, type Received, type Sending } from '../support/http.js';
import { lapse, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { refuseStatements } from '../support/store-faults.js';
import { passTime } from '../support/time.js';

const ACCOUNT = { 'x-account': 'a' };

/** Every way to get an answer of the library's own, in an application of any dialect. */
export class ProblemSituations {
  readonly routes = new PolicyRoutes({
    orders: { onServerError: 'retry' },
    tiny: { maxResponseBytes: 1 },
    gone: { onExpired: 'gone' },
    later: { run: 'background', onServerError: 'retry' },
  });

  /** Options that the application needs. */
  readonly idempotency = {
    scope: ({ headers }: { headers: Record<string, string | undefined> }) => headers['x-account'],
    lease: '1h',
    maxRunTime: '2h',
    limits: (scope: string): Limits =>
      scope === 'limited' ? { newKeysPerSecond: 0.001, burst: 1 } : {},
  };

  /** Provokes the problem and returns the answer. */
  meet(code: ProblemCode, app: IdempotentApp): Promise<Received> {
    this.routes.answers(() => ({ first: 'answer' }));
    const ask = (sending: Sending = {}, path = 'orders') =>
      send(`${app.url}/${path}`, { key: code, headers: ACCOUNT, ...sending });
    return this.situations[code](ask, app);
  }

  private readonly situations: Record<ProblemCode, Situation> = {
    key_missing: (ask) => ask({ key: undefined }),
    key_invalid: (ask) => ask({ key: 'k'.repeat(256) }),
    body_invalid: (ask) => ask({ body: '{"lone":"\\ud800"}' }),
    scope_missing: (ask) => ask({ headers: {} }),

    key_reused: async (ask) => {
      await ask({ body: { amount: 1 } });
      return ask({ body: { amount: 2 } });
    },

    in_progress: async (ask) => {
      const gate = barrier();
      this.routes.answers(() => gate.pass());
      const first = ask();
      await gate.arrived();
      const duplicate = await ask();
      gate.open();
      await first;
      return duplicate;
    },

    outcome_unknown: async (ask, app) => {
      const gate = barrier();
      this.routes.answers(() => gate.pass());
      const first = ask();
      await gate.arrived();
      await lapse(app.database, 'outcome_unknown');
      const retry = await ask();
      gate.open();
      await first;
      return retry;
    },

    given_up: async (ask, app) => {
      this.routes.answers(() => {
        throw new Error('a bug');
      });
      await ask({}, 'later');
      await app.database.query(
        `UPDATE idempotency_keys SET operation = 'orders.create' WHERE key = 'given_up'`,
      );
      return ask({}, 'later');
    },

    unfinished: async (ask, app) => {
      this.routes.answers(() => {
        throw new Error('a bug');
      });
      await ask();
      await passTime(app.database, 'unfinished', '25 hours');
      await runJob(app, 'reaper');
      return ask();
    },

    expired: async (ask, app) => {
      await ask({}, 'gone');
      await app.database.query(
        `UPDATE idempotency_keys SET expires_at = now() WHERE key = 'expired'`,
      );
      return ask({}, 'gone');
    },

    response_unavailable: async (ask) => {
      await ask({}, 'tiny');
      return ask({}, 'tiny');
    },

    store_unavailable: async (ask, app) => {
      const repair = await refuseStatements(app.database, 'INSERT', 'store_unavailable');
      const refused = await ask();
      await repair();
      return refused;
    },

    rate_limited: async (ask) => {
      const limited = { headers: { 'x-account': 'limited' } };
      await ask({ ...limited, key: 'the-only-one' });
      return ask(limited);
    },

    lease_lost: async (ask, app) => {
      const gate = barrier();
      this.routes.answers(() => gate.pass());
      const first = ask();
      await gate.arrived();
      await app.database.query(
        `UPDATE idempotency_keys SET owner = gen_random_uuid() WHERE key = 'lease_lost'`,
      );
      gate.open();
      return first;
    },
  };
}

type Ask = (sending?: Sending, path?: string) => Promise<Received>;
type Situation = (ask: Ask, app: IdempotentApp) => Promise<Received>;
