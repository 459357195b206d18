import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  Maintenance,
  Outbox,
  OutboxHandler,
  Reconciler,
  type AtomicPhase,
  type ForeignPhase,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { makeDue, messages } from '../outbox/messages.js';
import { startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { refuseStatements } from '../support/store-faults.js';
import { until } from '../support/until.js';

/** Part of everything that a client sends and of all that becomes of it. */
const SECRET = 'hush';
const secret = (what: string) => ({ card: `${SECRET} ${what}` });

/** As HTTP clients throw them: with the whole request among their members. */
function talkative(message: string): Error {
  return Object.assign(new Error(message), { config: { data: secret('request') } });
}

const logger = recordingLogger();
let lookUp: () => unknown;

@Injectable()
class Providers {
  constructor(private readonly dataSource: DataSource) {}

  @Reconciler('charge_created')
  find(): never {
    return lookUp() as never;
  }

  /** Fails with an error of TypeORM, which has the parameters of the statement. */
  @OutboxHandler('mails')
  send({ payload }: { payload: { card: string } }) {
    return this.dataSource.query(`SELECT 1 / 0 WHERE $1 <> ''`, [payload.card]);
  }
}

forEachPlatform('Logs', (platform) => {
  let app: PhaseApp;
  let key: string;
  let keys = 0;

  beforeAll(async () => {
    app = await startPhaseApp(platform, {
      logger,
      providers: [Providers],
      idempotency: {
        scope: () => `${SECRET} scope`,
        lease: 600,
        outbox: { maxAttempts: 2 },
        // Statements with a name are sent past TypeORM, whose errors have the parameters.
        preparedStatements: false,
        isFinal: ({ error }) => {
          if (error instanceof RangeError) throw talkative('isFinal failed');
          return error === undefined;
        },
      },
    });
  });
  beforeEach(() => {
    key = `${SECRET}-key-${keys++}`;
    logger.everything.length = 0;
    lookUp = () => ({ outcome: 'unknown' });
  });
  afterAll(() => app.close());

  const post = (body: unknown = secret('body')) => app.post('orders', key, { body });
  const job = (name: 'outbox' | 'reconciler') =>
    app.app.get(Maintenance, { strict: false }).runOnce(name);

  function expectNoSecret(): void {
    expect(logger.everything.filter((text) => text.includes(SECRET))).toEqual([]);
  }

  /** It was logged, and nothing but the secret is missing. */
  function expectLogged(pattern: RegExp): void {
    expect(logger.everything).toContainEqual(expect.stringMatching(pattern));
    expectNoSecret();
  }

  const charge = (phases: AtomicPhase, phase: Partial<ForeignPhase<unknown>>) =>
    phases.foreign('charge_created', {
      request: secret('request of a phase'),
      call: async () => secret('result of a call'),
      ...phase,
    });

  describe('contain no data of clients when', () => {
    it('every request succeeds', async () => {
      app.handle('orders', async (phases, body) => {
        await phases.local('order_created', async () => secret('result of a phase'));
        await charge(phases, {});
        return body;
      });
      expect((await post()).status).toBe(201);
      expect((await post()).status).toBe(201);
      expectNoSecret();
    });

    it('a key is used for another request', async () => {
      app.handle('orders', () => secret('answer'));
      await post();
      expect((await post(secret('other body'))).status).toBe(422);
      expectNoSecret();
    });

    it('the key cannot be reserved', async () => {
      const repair = await refuseStatements(app.database, 'INSERT', key);
      expect((await post()).status).toBe(503);
      await repair();
      expectNoSecret();
    });

    it('the answer cannot be recorded', async () => {
      app.handle('orders', () => secret('answer'));
      const repair = await refuseStatements(app.database, 'UPDATE', key);
      expect((await post()).status).toBe(503);
      await repair();
      expectLogged(/could not be recorded within its lease/);
    });

    it('a callback of the policy fails', async () => {
      app.handle('orders', () => {
        throw new RangeError('the handler failed');
      });
      expect((await post()).status).toBe(503);
      expectLogged(/isFinal failed/);
    });

    it.each<[string, string, (phases: AtomicPhase) => Promise<unknown>]>([
      ['local', 'order_created', (p) => p.local('order_created', async () => secret('result'))],
      ['foreign', 'charge_created', (p) => charge(p, {})],
    ])('the outcome of a %s phase cannot be recorded', async (_, name, run) => {
      await app.database.query(`
        CREATE FUNCTION refuse_phase() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.state = 'finished' THEN RAISE EXCEPTION 'refused by the test'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse_phase BEFORE INSERT OR UPDATE ON idempotency_phases
        FOR EACH ROW EXECUTE FUNCTION refuse_phase()`);
      app.handle('orders', (phases) => run(phases));
      expect((await post()).status).toBeGreaterThanOrEqual(409);
      await app.database.query('DROP FUNCTION refuse_phase CASCADE');
      expectLogged(name === 'order_created' ? /refused by the test/ : /is in doubt/);
    });

    it.each<[string, unknown]>([
      ['an error', talkative('the provider hung up')],
      ['something that is no error', secret('thrown')],
    ])('a call in doubt threw %s', async (_, error) => {
      app.handle('orders', async (phases) => {
        await charge(phases, { call: () => Promise.reject(error as Error) }).catch(() => undefined);
      });
      expect((await post()).status).toBe(409);
      expectLogged(/Phase "charge_created" .* is in doubt/);
    });

    it.each<[string, () => unknown, RegExp]>([
      ['has no outcome', () => secret('answer'), /answered an object without an outcome/],
      ['has another outcome', () => ({ outcome: SECRET }), /answered an object with another/],
      ['is text', () => `${SECRET} text`, /answered a string/],
      ['is no exception', () => ({ outcome: 'rejected', error: secret('error') }), /HttpException/],
      ['is an error', () => Promise.reject(talkative('is down')), /threw, .* Error: is down/],
      [
        'is not JSON',
        () => ({ outcome: 'executed', result: { ...secret('result'), n: NaN } }),
        /member "n" is NaN/,
      ],
    ])('the answer of a reconciler %s', async (_, answer, log) => {
      lookUp = answer;
      app.handle('orders', async (phases) => {
        const call = () => Promise.reject(new Error('the provider hung up'));
        await charge(phases, { inDoubt: 'reconcile', call }).catch(() => undefined);
      });
      expect((await post()).status).toBe(409);
      expectLogged(log);

      logger.everything.length = 0;
      await job('reconciler');
      expectLogged(log);
    });

    it('a message cannot be delivered, and becomes a dead letter', async () => {
      app.handle('orders', (phases) =>
        phases.local('order_created', (tx) =>
          app.app.get(Outbox).add(tx, 'mails', secret('payload')),
        ),
      );
      expect((await post()).status).toBe(201);
      await job('outbox');
      expectLogged(/^Delivery 1 .* QueryFailedError: division by zero$/);
      await makeDue(app.database);
      await job('outbox');
      expectLogged(/is a dead letter, .* QueryFailedError: division by zero$/);

      const [letter] = await messages(app.database);
      expect(letter!.last_error).toMatch(/QueryFailedError: division by zero\n +at /);
      expect(letter!.last_error).not.toContain(SECRET);
    });

    it('a payload is passed as the topic', async () => {
      app.handle('orders', (phases) =>
        phases.local('order_created', (tx) =>
          app.app.get(Outbox).add(tx, secret('payload') as never, 'mails'),
        ),
      );
      expect((await post()).status).toBe(500);
      expectLogged(/non-empty string as the topic/);
    });

    it('an attempt loses its lease and rethrows the reason', async () => {
      app.handle('orders', async (phases) => {
        const { signal } = phases.current!;
        await app.database.query(
          'UPDATE idempotency_keys SET owner = gen_random_uuid() WHERE key = $1',
          [key],
        );
        await until(() => signal.aborted, 'a heartbeat to notice');
        throw signal.reason;
      });
      expect((await post()).status).toBeGreaterThanOrEqual(409);
      expectLogged(/Attempt 1 of idempotency key \d+ lost its lease/);
    });
  });
});
