import { randomUUID } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Outbox } from 'nestjs-atomic-idempotency';
import type { Request } from 'express';
import type { PoolClient } from 'pg';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { withTransaction } from '../support/transactions.js';
import { describeOnCitus, preparedDuring, scopesOnDifferentNodes } from './on-citus.js';

@Controller()
class NotesController {
  constructor(
    private readonly phases: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Post('notes')
  @Idempotent({ phased: true })
  async create(): Promise<string> {
    const { scope } = this.phases.current!;
    await this.phases.foreign('charged', {
      call: async () => 'charged',
      record: (tx) => tx.query('INSERT INTO notes (scope, note) VALUES ($1, $2)', [scope, 'paid']),
    });
    await this.phases.foreign('mailed', { call: async () => 'mailed' });
    await this.phases.local('noted', async (tx) => {
      await tx.query('INSERT INTO notes (scope, note) VALUES ($1, $2)', [scope, 'made']);
      await this.outbox.add(tx, 'mail', { scope });
    });
    return 'made';
  }
}

describeOnCitus('A request on a cluster', () => {
  onEachPlatform(tests, ['express']);
});

function tests(platform: Platform): void {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      idempotency: { scope: (request: Request) => request.get('x-account') },
      controllers: [NotesController],
    });
    await app.database.query(
      'CREATE TABLE notes (scope text COLLATE "C" NOT NULL, note text NOT NULL)',
    );
    await app.database.query(
      `SELECT create_distributed_table('notes', 'scope', colocate_with => 'idempotency_keys')`,
    );
  });
  afterAll(() => app?.close());

  it('commits on the one node of its scope, with the rows of the scope and a message', async () => {
    const [{ scope }] = await scopesOnDifferentNodes(app.database);
    const post = () => send(`${app.url}/notes`, { key: 'noted', headers: { 'x-account': scope } });
    const prepared = await preparedDuring(app.database, async () => {
      const first = await post();
      const second = await post();
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(second.headers.get('idempotent-replayed')).toBe('true');
    });
    expect(prepared).toBe(0);
    expect(await app.database.query('SELECT scope, note FROM notes ORDER BY note')).toEqual([
      { scope, note: 'made' },
      { scope, note: 'paid' },
    ]);
    expect(await app.database.query('SELECT topic FROM idempotency_outbox')).toHaveLength(1);
  });

  it('would be noted as prepared if its transaction wrote to two nodes', async () => {
    const scopes = await scopesOnDifferentNodes(app.database);
    const note = (tx: PoolClient, scope: string) =>
      tx.query('INSERT INTO notes (scope, note) VALUES ($1, $2)', [scope, randomUUID()]);
    const prepared = await preparedDuring(app.database, () =>
      withTransaction(app.database, async (tx) => {
        for (const { scope } of scopes) await note(tx, scope);
        await tx.query('COMMIT');
      }),
    );
    expect(prepared).toBeGreaterThan(0);
  });
}
