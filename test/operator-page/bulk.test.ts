import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { OperatorIntent, OperatorPageOptions } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { forEachPlatform } from '../support/platforms.js';
import { submit } from './forms.js';
import { access as accessByName, startPageApp, type PageApp } from './page-app.js';

const KEYS = 40;
const FIELDS = {
  status: 'unknown',
  scope: 'outage',
  action: 'resolve',
  outcome: 'not_executed',
  reason: 'The provider never got them',
};

forEachPlatform('A bulk action on the operator page', (platform) => {
  let app: PageApp;
  let access: NonNullable<OperatorPageOptions['access']>;
  beforeAll(async () => {
    app = await startPageApp(platform, {
      access: (request: unknown, intent?: OperatorIntent) => access(request, intent),
    });
  });
  beforeEach(async () => {
    access = accessByName;
    await app.database.query('TRUNCATE idempotency_keys, idempotency_audit, idempotency_phases');
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, reconcile_after, last_error_code)
       SELECT 'outage', 'lost-' || n, '', gen_random_uuid(), 'unknown', now(), 'infinity', 'in_doubt'
       FROM generate_series(1, $1::int) n`,
      [KEYS],
    );
    await app.database.query(
      `INSERT INTO idempotency_phases (scope, key_id, name, position, kind, state, attempt, effect_key, in_doubt)
       SELECT scope, id, 'charge_created', 1, 'foreign', 'intended', 1, gen_random_uuid(), 'stop'
       FROM idempotency_keys`,
    );
  });
  afterAll(() => app.close());

  const dryRun = async (user: string) => {
    const { text } = await submit(
      `${app.page}/bulk`,
      { ...FIELDS, step: 'preview' },
      undefined,
      user,
    );
    expect(text).toContain(`${KEYS} keys would be changed`);
    return /name="items"\s+value="([^"]*)"/.exec(text)![1]!;
  };
  const carryOut = async (user: string, items: string) => {
    const { text } = await submit(
      `${app.page}/bulk`,
      { ...FIELDS, items, step: 'do' },
      undefined,
      user,
    );
    const [, changed, left] = /([\d,]+) keys? (?:was|were) changed, ([\d,]+) left alone/.exec(
      text,
    )!;
    return { changed: Number(changed), left: Number(left), text };
  };
  const audit = () =>
    app.database.query<{ key: string; who: string }>(
      'SELECT key, who FROM idempotency_audit ORDER BY id',
    );

  it('of two people at once changes each key once, for one of them', async () => {
    const items = await dryRun('ada');
    await dryRun('grace');
    // Both are about to change their first keys when they go on.
    const gates = { ada: barrier(), grace: barrier() };
    access = async (request, intent) => {
      const visitor = accessByName(request);
      const user = request.headers['x-user'] as keyof typeof gates;
      if (intent) await gates[user].pass();
      return visitor;
    };
    const both = [carryOut('ada', items), carryOut('grace', items)];
    await Promise.all([gates.ada.arrived(), gates.grace.arrived()]);
    gates.ada.open();
    gates.grace.open();
    const [ada, grace] = await Promise.all(both);

    expect(ada!.changed + grace!.changed).toBe(KEYS);
    expect(ada!.left + grace!.left).toBe(KEYS);
    const entries = await audit();
    expect(entries).toHaveLength(KEYS);
    expect(new Set(entries.map(({ key }) => key)).size).toBe(KEYS);
    expect(entries.filter(({ who }) => who.startsWith('ada'))).toHaveLength(ada!.changed);
  });

  it('leaves alone what has changed since the dry run, and says why', async () => {
    const items = await dryRun('ada');
    await app.database.query(
      `UPDATE idempotency_keys SET attempt = 2 WHERE key IN ('lost-3', 'lost-30')`,
    );
    await app.database.query(
      `UPDATE idempotency_keys SET status = 'completed', reconcile_after = NULL WHERE key = 'lost-7'`,
    );
    await app.database.query(`DELETE FROM idempotency_keys WHERE key = 'lost-11'`);
    const { changed, left, text } = await carryOut('ada', items);
    expect([changed, left]).toEqual([KEYS - 4, 4]);
    expect(text).toMatch(/They have changed since the dry run\.[^]*?<td class="num">2/);
    expect(text).toMatch(/No foreign call is in doubt any more\.[^]*?<td class="num">1/);
    expect(text).toMatch(/They are gone\.[^]*?<td class="num">1/);
    const changedMeanwhile = ['lost-3', 'lost-7', 'lost-11', 'lost-30'];
    expect((await audit()).filter(({ key }) => changedMeanwhile.includes(key))).toEqual([]);
  });

  it('does not begin further keys after an error, and says how many are left', async () => {
    const items = await dryRun('ada');
    let asked = 0;
    access = (request, intent) => {
      if (intent && ++asked > 10) throw new Error('The directory is down.');
      return accessByName(request);
    };
    const { changed, left, text } = await carryOut('ada', items);
    expect([changed, left]).toEqual([10, KEYS - 10]);
    expect(text).toContain('The log of the application has the reason.');
    // Those that were under way, and no others.
    expect(asked).toBeLessThan(20);
    expect(await audit()).toHaveLength(10);
  });

  it('ignores items that cannot be keys', async () => {
    const { changed, left } = await carryOut('ada', 'x:unknown:1 1:unknown 9e9:unknown:1 %:a:1');
    expect([changed, left]).toEqual([0, 0]);
  });
});
