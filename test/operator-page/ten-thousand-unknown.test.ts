import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { PlainCiphers } from '../../lib/encryption/plain-cipher.js';
import { Database } from '../../lib/postgres/database.js';
import { COUNTED, PageQueries } from '../../lib/operator/page/page-queries.js';
import { DoubtQueries } from '../../lib/operator/doubt-queries.js';
import { UnknownQueries } from '../../lib/operator/page/unknown-queries.js';
import type { PreparedStatement } from '../../lib/postgres/prepared-statement.js';
import { planOf, readsOf } from '../support/plans.js';
import { forEachPlatform } from '../support/platforms.js';
import { get, submit } from './forms.js';
import { startPageApp, type PageApp } from './page-app.js';

const ANY = { scope: null, key: null, route: null, olderThan: null, youngerThan: null };

/** After an outage: ten thousand unknown keys in a table of five times as many, and a full outbox. */
async function insertOutage({ database }: PageApp): Promise<void> {
  await database.query(
    `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, created_at, expires_at, method, route)
     SELECT 'crowd', 'done-' || n, '', gen_random_uuid(), 'completed', now(), now() - n * interval '1 second',
            now() + interval '1 day', 'POST', '/rides'
     FROM generate_series(1, 40000) n`,
  );
  await database.query(
    `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, attempt, locked_until, created_at, method, route,
                                   reconcile_attempts, reconcile_after, last_error_code)
     SELECT 'outage', 'lost-' || n, '', gen_random_uuid(), 'unknown', 1, now(), now() - n * interval '1 second', 'POST', '/rides',
            10, CASE WHEN n > 7000 THEN now() + interval '1 hour' ELSE 'infinity' END, 'in_doubt'
     FROM generate_series(1, 10000) n
     ORDER BY n DESC`,
  );
  await database.query(
    `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt)
     SELECT scope, id, 'charge_created', 1, 'foreign', 'intended', 1, gen_random_uuid(), 'stop'
     FROM idempotency_keys WHERE scope = 'outage'`,
  );
  // One message in a hundred is a dead letter.
  await database.query(
    `INSERT INTO idempotency_outbox (id, topic, dead_at)
     SELECT gen_random_uuid(), 'ride.receipt', CASE WHEN n % 100 = 0 THEN now() END FROM generate_series(1, 5000) n`,
  );
  await database.query('ANALYZE idempotency_keys, idempotency_phases, idempotency_outbox');
}

forEachPlatform('The operator page with many keys', (platform) => {
  describe('With ten thousand unknown keys', () => {
    let app: PageApp;
    beforeAll(async () => {
      app = await startPageApp(platform);
      await insertOutage(app);
    });
    afterAll(() => app.close());

    it('the overview counts them, and shows those left to people, oldest first', async () => {
      const { text } = await get(app.page);
      expect(text).toMatch(/<b>7,000<\/b><small>unknown, left to people/);
      expect(text).toMatch(/<b>3,000<\/b><small>unknown, being asked about/);
      const keys = [...text.matchAll(/<bdi>(lost-\d+)<\/bdi>/g)].map(([, key]) => key);
      expect(keys).toEqual(Array.from({ length: 20 }, (_, n) => `lost-${7000 - n}`));
    });

    it('the list goes through all of them, each once', async () => {
      const { page } = app;
      const keys: string[] = [];
      let address: string | undefined = `${page}/keys?status=unknown&younger=12m`;
      // The youngest of them: all would be too many pages for a test.
      while (address !== undefined) {
        const { text } = await get(address);
        for (const [, key] of text.matchAll(/<bdi>(lost-\d+)<\/bdi>/g)) keys.push(key!);
        const [link] = /<a[^>]*rel="next"[^>]*>/.exec(text) ?? [''];
        const [, next] = /href="([^"]+)"/.exec(link) ?? [];
        address = next && new URL(next.replaceAll('&amp;', '&'), address).href;
      }
      expect(keys.length).toBeGreaterThan(650);
      expect(new Set(keys).size).toBe(keys.length);
    });

    // A statement is the same on both adapters.
    if (platform.name === 'express')
      describe('the reads of the page', () => {
        const sent: { sql: string; parameters: unknown[] }[] = [];
        let dataSource: DataSource;
        let counts: PageQueries;
        let unknown: UnknownQueries;
        beforeAll(async () => {
          dataSource = new DataSource({ type: 'postgres', url: app.database.url });
          await dataSource.initialize();
          const database = new (class extends Database {
            override query<Row>(
              statement: string | PreparedStatement,
              parameters: unknown[],
            ): Promise<Row[]> {
              sent.push({
                sql: typeof statement === 'string' ? statement : statement.text,
                parameters,
              });
              return super.query(statement, parameters);
            }
          })(dataSource, 10_000);
          counts = new PageQueries(database);
          unknown = new UnknownQueries(database, new DoubtQueries(database), new PlainCiphers());
        });
        afterAll(() => dataSource.destroy());

        const RECONCILED = '(reconcile_after, id) WHERE (reconcile_after IS NOT NULL)';
        /** The index of limits has about the same rows. */
        const EITHER = [
          RECONCILED,
          '(scope) WHERE ((resume_after IS NOT NULL) OR (reconcile_after IS NOT NULL))',
        ];
        it.each<[string, () => Promise<unknown>, string, string | string[]]>([
          [
            'the unknown keys',
            () => unknown.page(ANY, undefined, 20),
            'idempotency_keys',
            RECONCILED,
          ],
          [
            'the unknown keys of a route',
            () => unknown.page({ ...ANY, route: '/tips' }, undefined, 20),
            'idempotency_keys',
            EITHER,
          ],
          [
            'the unknown keys behind a place, left to people',
            () => unknown.page(ANY, 'people~Infinity~41000', 20),
            'idempotency_keys',
            RECONCILED,
          ],
          [
            'the unknown keys behind a place, asked about',
            () => unknown.page(ANY, 'reconciler~1000000000.5~41000', 20),
            'idempotency_keys',
            RECONCILED,
          ],
          ['the count of unknown keys', () => counts.countUnknown(), 'idempotency_keys', EITHER],
          [
            'the count of what waits for workers',
            () => counts.countResumable(),
            'idempotency_keys',
            '(resume_after) WHERE (resume_after IS NOT NULL)',
          ],
          ['the newest keys', () => counts.recent(), 'idempotency_keys', '(id)'],
          [
            'the count of dead letters',
            () => counts.countDeadLetters(),
            'idempotency_outbox',
            '(dead_at) WHERE (dead_at IS NOT NULL)',
          ],
        ])('follow an index: %s', async (_, read, table, index) => {
          sent.length = 0;
          await read();
          expect(sent.length).toBeGreaterThan(0);
          // The calls in doubt of a page are read by the primary key of their phases.
          const reads = sent.filter(({ sql }) => !sql.includes('idempotency_phases'));
          for (const { sql, parameters } of reads) {
            const [row] = await app.database.query(`EXPLAIN (FORMAT JSON) ${sql}`, parameters);
            const nodes = readsOf(planOf(row), table);
            expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
            const used = await app.database.query<{ columns: string }>(
              `SELECT split_part(indexdef, ' USING btree ', 2) AS columns
               FROM pg_indexes WHERE tablename = $1 AND indexname = ANY ($2)`,
              [table, nodes.map((node) => node['Index Name'])],
            );
            expect(used).toHaveLength(1);
            expect([index].flat()).toContain(used[0]!.columns);
          }
        });

        it('begin a page in the index where the last one ended, however far that is', async () => {
          sent.length = 0;
          await unknown.page(ANY, 'people~Infinity~46000', 20);
          const [{ sql, parameters } = { sql: '', parameters: [] }] = sent;
          const [row] = await app.database.query(
            `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
            parameters,
          );
          const [node] = readsOf(planOf(row), 'idempotency_keys');
          expect(node).toMatchObject({
            'Index Cond': expect.stringContaining('ROW(reconcile_after, id) > ROW('),
            // Of 7,000 keys left to people.
            'Actual Rows': 20,
          });
        });
      });

    if (platform.name === 'express')
      it('more of them than are counted can be reached, each once', async () => {
        await app.database.query(
          `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, method, route, reconcile_after)
           SELECT 'later', 'late-' || n, '', gen_random_uuid(), 'unknown', now(), 'POST',
                  CASE n WHEN 25000 THEN '/tips' ELSE '/rides' END, 'infinity'
           FROM generate_series(1, 25000) n`,
        );
        const dataSource = await new DataSource({
          type: 'postgres',
          url: app.database.url,
        }).initialize();
        const database = new Database(dataSource, 10_000);
        const unknown = new UnknownQueries(
          database,
          new DoubtQueries(database),
          new PlainCiphers(),
        );
        expect((await new PageQueries(database).countUnknown()).leftToPeople).toEqual({
          count: COUNTED,
          more: true,
        });

        const keys: string[] = [];
        let next: string | undefined;
        do {
          const page = await unknown.page(ANY, next, 1000);
          keys.push(...page.keys.map(({ key }) => key));
          ({ next } = page);
        } while (next !== undefined);
        expect(keys).toHaveLength(35_000);
        expect(new Set(keys).size).toBe(35_000);
        // Left to people first, oldest first; then those that are asked about.
        expect([keys[0], keys[7000], keys[31_999]]).toEqual(['lost-7000', 'late-1', 'late-25000']);
        expect(keys.slice(32_000).every((key) => key.startsWith('lost-'))).toBe(true);

        // The last of them, found by its route; a walk that ends early says where to go on.
        const ofTips = { ...ANY, route: '/tips' };
        const found = await unknown.page(ofTips, undefined, 20);
        expect(found.keys.map(({ key }) => key)).toEqual(['late-25000']);
        const early = await unknown.page(ofTips, undefined, 20, 20_000);
        expect(early).toMatchObject({ keys: [], next: expect.stringContaining('people~') });
        const later = await unknown.page(ofTips, early.next, 20);
        expect(later.keys.map(({ key }) => key)).toEqual(['late-25000']);

        await dataSource.destroy();
      });

    it('a thousand of them are told to try again in one go, after a count', async () => {
      const fields = {
        status: 'unknown',
        scope: 'outage',
        action: 'retry',
        reason: 'The provider is back',
      };
      const dryRun = await submit(`${app.page}/bulk`, { ...fields, step: 'preview' });
      expect(dryRun.text).toContain('1,000 keys would be changed');
      expect(dryRun.text).toContain('there are more, for the next round');
      const [, items = ''] = /name="items"\s+value="([^"]*)"/.exec(dryRun.text) ?? [];
      const done = await submit(`${app.page}/bulk`, { ...fields, items, step: 'do' });
      expect(done.text).toContain('1,000 keys were changed, 0 left alone');
      const [audited] = await app.database.query(
        `SELECT count(*)::int AS count, count(DISTINCT key)::int AS keys FROM idempotency_audit WHERE action = 'retry' AND who = 'ada@example.com'`,
      );
      expect(audited).toEqual({ count: 1000, keys: 1000 });
    });
  });
});
