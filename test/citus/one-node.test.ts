import { randomUUID } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Outbox } from 'nestjs-atomic-idempotency';
import type { Request } from 'express';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { describeOnCitus, scopesOnDifferentNodes } from './on-citus.js';

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
    await app.database.query('CREATE TABLE notes (scope text NOT NULL, note text NOT NULL)');
    await app.database.query(
      `SELECT create_distributed_table('notes', 'scope', colocate_with => 'idempotency_keys')`,
    );
  });
  afterAll(() => app?.close());

  /** Transactions that were prepared on several nodes: Citus notes each, until it cleans up. */
  async function prepared(): Promise<number> {
    const [row] = await app.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM pg_dist_transaction',
    );
    return row!.count;
  }

  it('commits on the one node of its scope, with the rows of the scope and a message', async () => {
    const before = await prepared();
    const [{ scope }] = await scopesOnDifferentNodes(app.database);
    const post = () => send(`${app.url}/notes`, { key: 'noted', headers: { 'x-account': scope } });
    const first = await post();
    const second = await post();
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(await app.database.query('SELECT scope, note FROM notes')).toEqual([
      { scope, note: 'made' },
    ]);
    expect(await app.database.query('SELECT topic FROM idempotency_outbox')).toHaveLength(1);
    expect(await prepared()).toBe(before);
  });

  it('would be noted as prepared if its transaction wrote to two nodes', async () => {
    const before = await prepared();
    const scopes = await scopesOnDifferentNodes(app.database);
    const client = await app.database.pool.connect();
    await client.query('BEGIN');
    for (const { scope } of scopes) {
      await client.query('INSERT INTO notes (scope, note) VALUES ($1, $2)', [scope, randomUUID()]);
    }
    await client.query('COMMIT');
    client.release();
    expect(await prepared()).toBeGreaterThan(before);
  });
}
