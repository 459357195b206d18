import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Controller, Post, Req } from '@nestjs/common';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { AtomicPhase, Idempotent, Outbox, idempotencyEntities } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { Database } from '../../lib/postgres/database.js';
import { onCluster } from '../support/cluster.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller('orders')
class OrdersController {
  constructor(
    private readonly phase: AtomicPhase,
    private readonly outbox: Outbox,
  ) {}

  @Post()
  @Idempotent({ phased: true, keepRequest: true })
  async create(@Req() { headers }: { headers: Record<string, string> }) {
    await this.phase.local('order_saved', async (tx) => {
      await this.outbox.add(tx, 'order.created', { of: headers['x-tenant'] });
      return { saved: true };
    });
    await this.phase.foreign('charged', {
      request: { cents: 5 },
      call: async () => ({ id: 'ch' }),
    });
    return { tenant: headers['x-tenant'], euro: '€' };
  }
}

type Line = Record<string, any> & { type: string };

forEachPlatform('The export of a scope', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [OrdersController],
      idempotency: { scope: (request: any) => request.headers['x-tenant'] },
      // As an application may have set it: the driver reads only one style. A cluster needs that one.
      dataSource: onCluster ? {} : { extra: { options: '-c datestyle=SQL,DMY' } },
      logger: false,
    });
    for (const tenant of ['a', 'b']) {
      const headers = { 'x-tenant': tenant };
      const sent = { key: `of-${tenant}`, body: { cents: 5 }, headers };
      expect((await send(`${app.url}/orders`, sent)).status).toBe(201);
    }
    const { id } = await keyRow(app.database, 'of-a');
    await operatorOf(app).hold(id as string, { who: 'legal', why: 'case 12' });
  });
  afterAll(() => app.close());

  async function exported(scope: string): Promise<Line[]> {
    const whole = await text(Readable.from(operatorOf(app).export(scope)));
    expect(whole.endsWith('\n')).toBe(true);
    return whole
      .slice(0, -1)
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  it('has one line for each row of the scope, and none of another', async () => {
    const lines = await exported('a');
    expect(lines.map(({ type }) => type)).toEqual([
      'export',
      'key',
      'phase',
      'phase',
      'message',
      'audit',
      'end',
    ]);
    expect(lines[0]).toMatchObject({ version: 1, scope: 'a' });
    expect(lines.slice(1, -1).every(({ scope }) => scope === 'a')).toBe(true);
    expect(lines.at(-1)).toEqual({
      type: 'end',
      counts: { key: 1, phase: 2, message: 1, audit: 1 },
    });
    expect(await exported('nobody')).toEqual([
      expect.objectContaining({ type: 'export' }),
      { type: 'end', counts: { key: 0, phase: 0, message: 0, audit: 0 } },
    ]);
  });

  it('has bytes as base64, dates as ISO 8601, JSON as it is and ids as text', async () => {
    const [, key, charged, saved, message, audit] = await exported('a');
    const row = await keyRow(app.database, 'of-a');
    expect(key).toMatchObject({
      id: row.id,
      key: 'of-a',
      status: 'completed',
      responseStatus: 201,
      fingerprint: row.fingerprint.toString('base64'),
      responseBody: Buffer.from(JSON.stringify({ tenant: 'a', euro: '€' })).toString('base64'),
      request: { cents: 5 },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Math.abs(Date.parse(key!.createdAt) - row.created_at.getTime())).toBeLessThan(2);
    expect(charged).toMatchObject({ name: 'charged', request: { cents: 5 }, result: { id: 'ch' } });
    expect(saved).toMatchObject({ name: 'order_saved', result: { saved: true }, effectKey: null });
    expect(message).toMatchObject({ topic: 'order.created', payload: { of: 'a' }, keyId: row.id });
    expect(audit).toMatchObject({ action: 'hold', who: 'legal', why: 'case 12', keyId: row.id });
  });

  it('has every column of the tables', async () => {
    class Metadata extends DataSource {
      async build() {
        await this.buildMetadatas();
        return this.entityMetadatas;
      }
    }
    const tables = await new Metadata({ type: 'postgres', entities: idempotencyEntities }).build();
    const lines = await exported('a');
    for (const [type, table] of [
      ['key', 'idempotency_keys'],
      ['phase', 'idempotency_phases'],
      ['message', 'idempotency_outbox'],
      ['audit', 'idempotency_audit'],
    ]) {
      const { columns } = tables.find(({ tableName }) => tableName === table)!;
      const { type: _, ...line } = lines.find((each) => each.type === type)!;
      const camel = (name: string) =>
        name.replace(/_(\w)/g, (_all, letter) => letter.toUpperCase());
      expect(Object.keys(line)).toEqual(columns.map(({ databaseName }) => camel(databaseName)));
    }
  });

  it('is read page by page, as it is consumed', async () => {
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, endpoint, key, fingerprint, owner, locked_until, response_body)
       SELECT 'many', 'e' || n % 3, 'k' || n, '', gen_random_uuid(), now(),
              convert_to(repeat('x', CASE WHEN n % 100 = 0 THEN 3000000 ELSE 10 END), 'UTF8')
       FROM generate_series(1, 450) n`,
    );
    const query = jest.spyOn(Database.prototype, 'query');
    // Other parts of the application may send statements of their own meanwhile.
    const pagesRead = () =>
      query.mock.calls.flatMap(([, [scope]], index) =>
        scope === 'many' ? [query.mock.results[index]!.value as Promise<any[]>] : [],
      );
    try {
      const lines = operatorOf(app).export('many');
      await lines.next();
      expect(pagesRead()).toHaveLength(0);
      await lines.next();
      expect(pagesRead()).toHaveLength(1);
      await lines.return();

      query.mockClear();
      const keys = (await exported('many')).filter(({ type }) => type === 'key');
      expect(new Set(keys.map(({ key }) => key)).size).toBe(450);
      expect(keys).toHaveLength(450);
      const pages = await Promise.all(pagesRead());
      expect(pages.length).toBeGreaterThan(3);
      const weights = pages.map((rows) =>
        rows.reduce((sum, row) => sum + Buffer.from(row.responseBody ?? '').length, 0),
      );
      expect(Math.max(...weights)).toBeLessThanOrEqual(4 * 1024 * 1024);
      expect(Math.max(...pages.map((rows) => rows.length))).toBeLessThanOrEqual(200);
    } finally {
      query.mockRestore();
    }
  });

  it('needs the text of a scope', () => {
    expect(() => operatorOf(app).export(7 as unknown as string)).toThrow(TypeError);
  });
});
