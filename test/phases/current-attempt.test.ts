import { once } from 'node:events';
import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, type CurrentAttempt } from 'nestjs-atomic-idempotency';
import { heartbeat } from '../support/heartbeat.js';
import { send } from '../support/http.js';
import { describePhases, note } from '../support/phase-app.js';

/** Deep in the application, and told nothing about the request. */
@Injectable()
class Audit {
  constructor(private readonly phases: AtomicPhase) {}

  who(): string {
    const { current } = this.phases;
    return current ? `${current.scope}/${current.key}/${current.attempt}` : 'nobody';
  }

  record(): Promise<void> {
    return this.phases.local('audited', (tx) => note(tx, this.who()));
  }
}

@Controller('services/audits')
class AuditController {
  constructor(private readonly audit: Audit) {}

  @Post()
  @Idempotent()
  create(): Promise<void> {
    return this.audit.record();
  }

  @Post('plain')
  plain(): string {
    return this.audit.who();
  }
}

/** Imports nothing: the idempotency module is global. */
@Module({ controllers: [AuditController], providers: [Audit] })
class AuditModule {}

const seen = ({ scope, key, attempt, recoveryPoint }: CurrentAttempt) => ({
  scope,
  key,
  attempt,
  recoveryPoint,
});

describePhases(
  'The current attempt',
  (app) => {
    it('is injected into a service of a module that imports nothing', async () => {
      expect((await send(`${app.url}/services/audits`, { key: 'service' })).status).toBe(201);
      expect(await app.notes()).toEqual(['tenant/service/1']);
    });

    it('is undefined without an idempotent request', async () => {
      expect(app.app.get(AtomicPhase).current).toBeUndefined();
      expect((await send(`${app.url}/services/audits/plain`, { key: 'plain' })).text).toBe(
        'nobody',
      );
    });

    it('has the scope, the key, the attempt and the last finished phase', async () => {
      const states: unknown[] = [];
      const look = (phases: AtomicPhase) => void states.push(seen(phases.current!));
      app.handle('ride', async (phases) => {
        look(phases);
        await phases.local('ride_created', async () => look(phases));
        look(phases);
        await phases.foreign('charge_created', { call: async () => look(phases) });
        look(phases);
      });
      const expected = (attempt: number, ...recoveryPoints: string[]) =>
        recoveryPoints.map((recoveryPoint) => ({
          scope: 'tenant',
          key: 'k',
          attempt,
          recoveryPoint,
        }));

      await app.crash('charge_created:before_intent', 'ride', 'k');
      expect(states.splice(0)).toEqual(expected(1, 'started', 'started', 'ride_created'));

      await app.post('ride', 'k');
      expect(states).toEqual(
        expected(2, 'ride_created', 'ride_created', 'ride_created', 'charge_created'),
      );
    });

    it('has a signal that fires when another attempt takes the key over', async () => {
      let reason: unknown;
      let stays: CurrentAttempt | undefined;
      app.handle('ride', async (phases) => {
        const { signal } = phases.current!;
        expect(signal.aborted).toBe(false);
        await app.database.query(
          `UPDATE idempotency_keys SET owner = '00000000-0000-4000-8000-00000000000a', attempt = 2 WHERE key = 'lost'`,
        );
        const aborted = once(signal, 'abort');
        await heartbeat(app.app);
        await aborted;
        reason = signal.reason;
        stays = phases.current;
        await phases.foreign('charge_created', {
          call: () => Promise.reject(new Error('must not be called')),
        });
      });

      const answer = await app.post('ride', 'lost');

      expect(answer.json()).toMatchObject({ status: 409, code: 'lease_lost' });
      expect(String(reason)).toContain('lost its lease');
      expect(stays?.signal.aborted).toBe(true);
      expect(await app.phases('lost')).toEqual([]);
    });

    it('gives the same signal to a call', async () => {
      app.handle('ride', (phases) =>
        phases.foreign('charge_created', {
          call: async ({ signal }) => {
            await app.database.query(
              `UPDATE idempotency_keys SET owner = '00000000-0000-4000-8000-00000000000a', attempt = 2 WHERE key = 'call'`,
            );
            const aborted = once(signal, 'abort');
            await heartbeat(app.app);
            await aborted;
            expect(signal).toBe(phases.current!.signal);
            return 'too late';
          },
        }),
      );

      const answer = await app.post('ride', 'call');

      expect(answer.json()).toMatchObject({ status: 409, code: 'lease_lost' });
      expect(await app.phases('call')).toMatchObject([{ state: 'intended', result: null }]);
    });
  },
  { imports: [AuditModule], idempotency: { scope: () => 'tenant' } },
);
