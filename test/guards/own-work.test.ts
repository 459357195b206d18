import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AtomicPhase,
  IdempotencyOperator,
  Outbox,
  Reconciler,
  Resumable,
  type Reconciliation,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { describePhases, note } from '../support/phase-app.js';

let provider: Server;
let url = '';
beforeAll(async () => {
  provider = createServer((_, response) => response.end('{}'));
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`;
});
afterAll(() => void provider.close());

@Injectable()
class Charges {
  strays = false;

  constructor(
    private readonly phases: AtomicPhase,
    private readonly dataSource: DataSource,
  ) {}

  /** A search, which the provider wants to be a POST. */
  @Reconciler('charge_created')
  async lookUp(): Promise<Reconciliation> {
    await fetch(url, { method: 'POST' });
    return { outcome: 'executed', result: { id: 'ch_1' } };
  }

  @Resumable('charges.refund')
  async refund(): Promise<void> {
    await this.phases.local('requested', (tx) => note(tx, 'requested'));
    if (this.strays) await this.dataSource.query(`INSERT INTO notes (note) VALUES ('stray')`);
    await this.phases.local('refunded', (tx) => note(tx, 'refunded'));
  }
}

// The strictest there is: phased, 'throw', and all statements sent where the guard sees them.
describePhases(
  'Writes of the library itself',
  (app) => {
    describe('are no mistake of the handler', () => {
      it('a message added in a phase', async () => {
        app.handle('order', (phases) =>
          phases.local('confirmed', (tx) => app.app.get(Outbox).add(tx, 'confirmations')),
        );
        expect((await app.post('order', 'outbox')).status).toBe(201);
        await app.database.query('TRUNCATE idempotency_outbox');
      });

      it('a decision of the operator, in a webhook that is idempotent itself', async () => {
        let effectKey = '';
        app.handle('charge', (phases) =>
          phases.foreign('transfer_created', {
            call: ({ idempotencyKey }) => {
              effectKey = idempotencyKey;
              throw new Error('lost');
            },
          }),
        );
        await app.post('charge', 'resolved');
        app.handle('webhook', () =>
          app.app
            .get(IdempotencyOperator, { strict: false })
            .resolve(effectKey, { outcome: 'not_executed' }, 'webhook'),
        );
        const answer = await app.post('webhook', 'webhook');
        expect(answer.status).toBe(201);
        expect(answer.json()).toMatchObject({ changed: true });
      });

      it('a query of a reconciler', async () => {
        app.handle('charge', (phases) =>
          phases.foreign('charge_created', {
            call: () => Promise.reject(new Error('timeout')),
            inDoubt: 'reconcile',
          }),
        );
        const answer = await app.post('charge', randomUUID());
        expect(answer.json()).toEqual({ id: 'ch_1' });
        expect(answer.status).toBe(201);
      });
    });
  },
  {
    providers: [Charges],
    idempotency: { phased: true, foreignCalls: 'throw', preparedStatements: false },
  },
);

describePhases(
  'Operations that a worker completes',
  (app) => {
    it('are phased, whatever their route says', async () => {
      const charges = app.app.get(Charges);
      app.handle('refund', () => charges.refund());
      await app.crash('refunded:before_commit', 'refund', 'worker');
      await age(app.database, 'worker');
      charges.strays = true;

      await runJob(app, 'sweeper');
      await runJob(app, 'completer');
      expect(app.logs.join()).toMatch(
        /charges\.refund wrote to the database outside any phase .* What is phased/,
      );
      expect(await app.notes()).toEqual(['requested']);

      charges.strays = false;
      await age(app.database, 'worker');
      await runJob(app, 'completer');
      expect(await app.notes()).toEqual(['requested', 'refunded']);
      expect((await keyRow(app.database, 'worker')).status).not.toBe('unknown');
    });
  },
  { providers: [Charges], idempotency: { foreignCalls: 'ignore' } },
);
