import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { insertKey } from '../operator/key-states.js';
import { keyRow } from '../support/idempotent-app.js';
import { auditOf } from '../support/operator.js';
import { onEachPlatform } from '../support/platforms.js';
import { describeInBrowser, type Tab } from './browser.js';
import {
  insertDeadLetter,
  insertUnknown,
  startPageApp,
  type MadeKey,
  type PageApp,
} from './page-app.js';

/** Of a PNG, in pixels. */
const widthOf = (png: Buffer) => png.readUInt32BE(16);

describeInBrowser('On the operator page, in a browser,', (browser) => {
  onEachPlatform((platform) => {
    let app: PageApp;
    let shown: MadeKey;
    let letter: string;
    beforeAll(async () => {
      app = await startPageApp(platform, {
        environment: 'production',
        link: ({ effectKey }) => `https://pay.example.com/search?q=${effectKey}`,
        redact: (value) => JSON.parse(JSON.stringify(value).replaceAll('2500', '"***"')) as unknown,
      });
      const { database } = app;
      shown = await insertUnknown(database, { key: 'ride-2f6c1', age: '5 hours' });
      await insertUnknown(database, { key: 'tip-90aa7', route: '/rides/:id/tips' });
      letter = await insertDeadLetter(database, { orderingKey: 'ride-7' });
      await database.query(
        `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, status, locked_until, created_at, method, route, expires_at)
         SELECT 'crowd', 'load-' || n, '', gen_random_uuid(), CASE WHEN n % 37 = 0 THEN 'failed_retryable' ELSE 'completed' END,
                now(), now() - n * interval '11 seconds', 'POST', '/rides', now() + interval '1 day'
         FROM generate_series(1, 120) n`,
      );
    });
    afterAll(() => app.close());

    /** Once: the pages are the same on both adapters, and a screenshot takes its time. */
    const shoot = async (tab: Tab, name: string) => {
      if (platform.name === 'express') await browser.shoot(tab.page, name);
    };

    const openKey = async (tab: Tab, { id }: { id: string }) => {
      await tab.page.goto(`${app.page}/key?id=${id}`);
    };

    it('every page is shown, in light and dark, on a screen and on a phone', async () => {
      const tab = await browser.open('ada');
      const pages = {
        overview: '',
        keys: '/keys?status=unknown',
        key: `/key?id=${shown.id}&values=shown`,
        letters: '/letters?values=shown',
        letter: `/letter?id=${letter}&values=shown`,
      };
      for (const [scheme, width] of [
        ['light', 1280],
        ['dark', 390],
      ] as const) {
        await tab.page.setViewport({ width, height: 800 });
        await tab.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        for (const [name, path] of Object.entries(pages)) {
          await tab.page.goto(`${app.page}${path}`);
          await shoot(tab, `${name}-${scheme}-${width}`);
          const overflow = await tab.evaluate(
            'document.documentElement.scrollWidth - document.documentElement.clientWidth',
          );
          expect([name, width, overflow]).toEqual([name, width, 0]);
        }
      }
      expect(tab.complaints).toEqual([]);
    });

    // Taken here, so that they can be taken again: copy them to docs/images when the page changes.
    if (platform.name === 'express')
      it('the pictures in the docs are of this page', async () => {
        const tab = await browser.open('ada');
        await tab.page.setViewport({ width: 1040, height: 800 });
        await tab.page.goto(app.page);
        const overview = await browser.shoot(tab.page, 'operator-page-overview', 'body');

        await tab.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
        await openKey(tab, shown);
        await tab.page.click('input[value=executed]');
        await tab.fill('[name=result]', '{"chargeId":"ch_3PqWn"}');
        await tab.fill('[name=reason]', 'The provider shows the charge');
        await tab.fill('[name=evidence]', 'https://pay.example.com/ch_3PqWn');
        const form = await browser.shoot(
          tab.page,
          'operator-page-key',
          '[aria-labelledby=actions-title]',
        );

        const images = new URL('../../docs/images/', import.meta.url);
        for (const taken of [overview, form]) {
          const ours = await readFile(taken);
          const inDocs = await readFile(new URL(basename(taken), images));
          expect(widthOf(inDocs)).toBe(widthOf(ours));
        }
      });

    it('the overview shows what is urgent first', async () => {
      const tab = await browser.open('ada');
      await tab.page.goto(app.page);
      const text = await tab.text();
      expect(text).toContain('PRODUCTION');
      expect(text).toContain('ada@example.com');
      expect(text).toMatch(/2\s+unknown, left to people/);
      expect(text).toMatch(/1\s+dead letters/);
      expect(text).toContain('Effect key valid until');
      expect(text).toMatch(/in 20 h 5\d min/);
      expect(text).toContain('reconciler');
      const keys = await tab.page.$$eval('#unknown tbody a', (links) =>
        links.map((link) => link.textContent),
      );
      expect(keys).toEqual(['ride-2f6c1', 'tip-90aa7']);
      expect(await tab.page.$eval('svg.trend', (svg) => svg.getAttribute('aria-label'))).toMatch(
        /^12\d new keys in the last hour, [1-9]\d* of them failed or unknown/,
      );
      await tab.click('#unknown tbody a');
      expect(await tab.text()).toContain('charge_created: call intended');
      expect(tab.complaints).toEqual([]);
    });

    it('keys are found by all fields together, and page by page', async () => {
      const tab = await browser.open('ada');
      await tab.page.goto(`${app.page}/keys`);
      await tab.page.select('#f-status', 'completed');
      await tab.fill('#f-scope', 'crowd');
      await tab.fill('#f-route', 'POST /rides');
      await tab.fill('#f-younger', '2h');
      await tab.click('form.filter button');
      const seen: (string | null)[] = [];
      for (;;) {
        seen.push(
          ...(await tab.page.$$eval('tbody code', (codes) => codes.map((c) => c.textContent))),
        );
        if (!(await tab.page.$('a[rel=next]'))) break;
        await tab.click('a[rel=next]');
      }
      const keys = seen.filter((text) => text?.startsWith('load-'));
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys).toHaveLength(117);

      await tab.page.goto(`${app.page}/keys`);
      await tab.fill('#f-effect', shown.effectKey);
      await tab.click('form.filter button');
      expect(await tab.text()).toContain('1 key');
      await tab.fill('#f-id', '4242');
      await tab.click('form.filter button');
      expect(await tab.text()).toContain('No keys');
      await tab.page.goto(`${app.page}/keys?effect=ch_1`);
      expect(await tab.text()).toContain('effectKey is "ch_1". Use a UUID.');
    });

    it('requests and results are hidden until somebody asks, and redacted then', async () => {
      const tab = await browser.open('ada');
      await openKey(tab, shown);
      expect(await tab.page.content()).not.toContain('currency');
      expect(await tab.page.content()).not.toContain('moon');
      await tab.click('a[href*="values=shown"]');
      const text = await tab.text();
      expect(text).toContain('"currency": "eur"');
      expect(text).toContain('"amount": "***"');
      expect(text).toContain('"target": "moon"');
      expect(text).not.toContain('2500');
    });

    it('the effect key can be copied, and looked up where it belongs', async () => {
      const tab = await browser.open('ada');
      await openKey(tab, shown);
      const link = await tab.page.$eval('a[target=_blank]', (a) => [a.getAttribute('href'), a.rel]);
      expect(link).toEqual([
        `https://pay.example.com/search?q=${shown.effectKey}`,
        'noopener noreferrer',
      ]);
      await tab.page.click('[data-copy]');
      await tab.page.waitForFunction(
        `document.querySelector('[data-copy]').textContent !== 'Copy'`,
      );
      await tab.page.focus('[name=evidence]');
      await tab.page.keyboard.down('Control');
      await tab.page.keyboard.press('v', { commands: ['Paste'] });
      await tab.page.keyboard.up('Control');
      expect(await tab.valueOf('[name=evidence]')).toBe(shown.effectKey);
      expect(tab.complaints).toEqual([]);
    });

    it.each([
      ['executed', { result: '{"chargeId":"ch_1"}' }, 'reconciled', { chargeId: 'ch_1' }],
      [
        'rejected',
        { rejection_status: '402', rejection_body: '{"code":"card_declined"}' },
        'rejected',
        expect.objectContaining({ status: 402, response: { code: 'card_declined' } }),
      ],
      ['not_executed', {}, 'withdrawn', null],
    ])('a call in doubt is resolved as %s', async (outcome, fields, state, result) => {
      const key = await insertUnknown(app.database);
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.page.click(`input[value=${outcome}]`);
      for (const [name, value] of Object.entries(fields)) {
        await tab.fill(`[name=${name}]`, value);
      }
      await tab.fill('[name=reason]', 'Asked the provider.');
      await tab.fill('[name=evidence]', 'ticket 4711');
      await tab.click('button[value=preview]');
      expect(await tab.text()).toContain('What happens next');
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
      if (outcome === 'executed') await shoot(tab, 'preview');

      await tab.click('button[value=do]');
      expect(await tab.text()).toContain('It is resolved.');
      expect((await keyRow(app.database, key.key)).status).toBe('failed_retryable');
      const [phase] = await app.database.query(
        'SELECT state, result FROM idempotency_phases WHERE effect_key = $1',
        [key.effectKey],
      );
      expect(phase).toEqual({ state, result });
      expect(await auditOf(app.database, key.key)).toEqual([
        expect.objectContaining({
          action: 'resolve',
          who: 'ada@example.com',
          why: 'Asked the provider.\nEvidence: ticket 4711',
        }),
      ]);
      expect(tab.complaints).toEqual([]);
    });

    it('what was typed is not lost by a mistake, nor by a look at the preview', async () => {
      const key = await insertUnknown(app.database);
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.page.click('input[value=executed]');
      await tab.fill('[name=result]', '{"chargeId":');
      await tab.fill('[name=reason]', 'Seen in the books');
      await tab.click('button[value=preview]');
      expect(await tab.text()).toContain('The result is not JSON');
      expect(await tab.valueOf('[name=result]')).toBe('{"chargeId":');
      await tab.fill('[name=result]', '{"chargeId":"ch_2"}');
      await tab.click('button[value=preview]');
      expect(await tab.text()).toContain('{"chargeId":"ch_2"}');
      await tab.click('button[value=edit]');
      expect(await tab.valueOf('[name=reason]')).toBe('Seen in the books');
      // The 400 is a failed request, as the browser sees it.
      expect(tab.complaints.filter((line) => !line.includes('400'))).toEqual([]);
    });

    it.each([
      ['expire', 'performed', 'expired'],
      ['expire', 'failed', 'completed'],
      ['evict', 'completed', undefined],
      ['retry', 'failed, with an operation', 'failed_retryable'],
      ['retry', 'unknown, in doubt', 'unknown'],
    ] as const)('a key can be told to %s while it is %s', async (action, state, after) => {
      const key = await insertKey(app.database, state);
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.page.click(`#decide-${action} summary`);
      await tab.fill(`#reason-${action}`, 'On request of the customer');
      await tab.click(`#decide-${action} button`);
      await tab.click('button[value=do]');
      const [row] = await app.database.query('SELECT status FROM idempotency_keys WHERE id = $1', [
        key.id,
      ]);
      expect(row?.['status']).toBe(after);
      expect(await auditOf(app.database, key.key)).toEqual([
        expect.objectContaining({
          action,
          who: 'ada@example.com',
          why: 'On request of the customer',
        }),
      ]);
      expect(tab.complaints).toEqual([]);
    });

    it('a key without a call in doubt gets an answer from a person', async () => {
      const key = await insertKey(app.database, 'unknown, no phase');
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.page.click('input[value=completed]');
      await tab.fill('[name=answer_status]', '201');
      await tab.fill('[name=answer_body]', '{"id":7}');
      await tab.fill('#reason-key', 'It is in the books');
      await tab.click('button[value=preview]');
      await tab.click('button[value=do]');
      const row = await keyRow(app.database, key.key);
      expect([row['status'], row['response_status'], String(row['response_body'])]).toEqual([
        'completed',
        201,
        '{"id":7}',
      ]);
    });

    it('dead letters are requeued, one by one and all together', async () => {
      const first = await insertDeadLetter(app.database, { topic: 'mail' });
      const tab = await browser.open('ada');
      await tab.page.goto(`${app.page}/letters?topic=mail`);
      await tab.page.click(`input[value="${first}"]`);
      await tab.fill('#reason-letters', 'The mail server is back');
      await tab.click('button[value=chosen]');
      expect(await tab.text()).toContain('The messages were requeued.');
      expect(await tab.text()).toContain('No dead letters');

      for (let n = 0; n < 30; n++) await insertDeadLetter(app.database, { topic: 'mail' });
      await tab.page.goto(`${app.page}/letters?topic=mail`);
      await tab.fill('#reason-letters', 'The mail server is back again');
      await tab.click('button[value=all]');
      expect(await tab.text()).toContain('30 messages would be requeued');
      await tab.click('button[value=chosen]');
      const [row] = await app.database.query(
        `SELECT count(*)::int AS dead FROM idempotency_outbox WHERE topic = 'mail' AND dead_at IS NOT NULL`,
      );
      expect(row).toEqual({ dead: 0 });
      expect(tab.complaints).toEqual([]);
    });

    it('many keys are told to try again together, after a dry run that changes nothing', async () => {
      const keys = [];
      for (let n = 0; n < 5; n++) {
        keys.push(await insertUnknown(app.database, { scope: 'outage', key: `outage-${n}` }));
      }
      const tab = await browser.open('tim');
      await tab.page.goto(`${app.page}/keys?status=unknown&scope=outage`);
      await tab.page.click('#bulk > summary');
      await tab.page.click('#bulk input[value=retry]');
      await tab.fill('#reason-bulk', 'The provider is back');
      await tab.click('#bulk button[value=preview]');
      expect(await tab.text()).toContain('5 keys would be changed');
      await shoot(tab, 'dry-run');
      expect(await auditOf(app.database, 'outage-0')).toEqual([]);

      // Somebody else is faster with one of them.
      await app.database.query(`UPDATE idempotency_keys SET attempt = 3 WHERE id = $1`, [
        keys[2]!.id,
      ]);
      await tab.click('button[value=do]');
      const text = await tab.text();
      expect(text).toContain('4 keys were changed, 1 left alone');
      expect(text).toContain('They have changed since the dry run.');
      const audited = await app.database.query(
        `SELECT key, action, who, why FROM idempotency_audit WHERE scope = 'outage' ORDER BY key`,
      );
      expect(audited).toEqual(
        [0, 1, 3, 4].map((n) => ({
          key: `outage-${n}`,
          action: 'retry',
          who: 'tim@example.com',
          why: 'The provider is back',
        })),
      );
      expect(tab.complaints).toEqual([]);
    });

    it('of two people who decide at once, one is told that nothing was changed', async () => {
      const key = await insertUnknown(app.database);
      const tabs = [await browser.open('ada'), await browser.open('grace')];
      for (const [index, tab] of tabs.entries()) {
        await openKey(tab, key);
        await tab.page.click(index === 0 ? 'input[value=executed]' : 'input[value=not_executed]');
        await tab.fill('[name=reason]', 'I know better');
        await tab.click('button[value=preview]');
      }
      await Promise.all(tabs.map((tab) => tab.click('button[value=do]')));
      const texts = await Promise.all(tabs.map((tab) => tab.text()));
      expect(texts.filter((text) => text.includes('It is resolved.'))).toHaveLength(1);
      const [refused] = texts.filter((text) => text.includes('Nothing was changed'));
      expect(refused).toContain('is failed_retryable in attempt 2 now');
      expect(await auditOf(app.database, key.key)).toHaveLength(1);
    });

    it('a decision about what a page showed before the key ran again is refused', async () => {
      const key = await insertUnknown(app.database);
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.page.click('input[value=not_executed]');
      await tab.fill('[name=reason]', 'Nothing in the books');
      await tab.click('button[value=preview]');
      // Resolved by somebody, run again by the client, in doubt again: another call.
      await app.database.query('UPDATE idempotency_keys SET attempt = 3 WHERE id = $1', [key.id]);
      await tab.click('button[value=do]');
      expect(await tab.text()).toContain(
        'was unknown in attempt 2 when this was decided, and is unknown in attempt 3 now',
      );
      expect(await auditOf(app.database, key.key)).toEqual([]);
    });

    it('a reader sees everything and no form, and the server refuses one all the same', async () => {
      const tab = await browser.open('rita');
      for (const path of ['', '/keys?status=unknown', `/key?id=${shown.id}`, '/letters']) {
        const response = await tab.page.goto(`${app.page}${path}`);
        expect(response?.status()).toBe(200);
        expect(await tab.page.$$('form[method=post] button')).toEqual([]);
      }
      await openKey(tab, shown);
      expect(await tab.text()).toContain('You may read this, but not change it.');
    });

    it('nobody else gets more than a refusal', async () => {
      for (const user of [undefined, 'mallory']) {
        const tab = await browser.open(user);
        const response = await tab.page.goto(app.page);
        expect(response?.status()).toBe(403);
        expect((await tab.text()).trim()).toBe('Not allowed.');
      }
    });

    it('everything works without script', async () => {
      const key = await insertUnknown(app.database, { scope: 'plain' });
      const tab = await browser.open('ada', { script: false });
      await tab.page.goto(app.page);
      await tab.click('nav a:nth-child(2)');
      await tab.fill('#f-scope', 'plain');
      await tab.click('form.filter button');
      await tab.click('tbody a');
      await tab.page.click('input[value=not_executed]');
      await tab.fill('[name=reason]', 'No script');
      await tab.click('button[value=preview]');
      await tab.click('button[value=do]');
      expect((await keyRow(app.database, key.key)).status).toBe('failed_retryable');
    });

    it('everything works with the keyboard', async () => {
      const key = await insertUnknown(app.database, { scope: 'keyboard' });
      const tab = await browser.open('ada');
      const { keyboard } = tab.page;
      await openKey(tab, key);
      // From the top to the first choice, as somebody without a mouse goes.
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press('Tab');
        if (await tab.evaluate(`document.activeElement.type === 'radio'`)) break;
      }
      await keyboard.press('Space');
      await keyboard.press('ArrowUp');
      expect(await tab.valueOf('input[name=outcome]:checked')).toBe('not_executed');
      await keyboard.press('Tab');
      await keyboard.type('Keyboard only');
      await Promise.all([tab.page.waitForNavigation(), keyboard.press('Enter')]);
      expect(await tab.text()).toContain('What happens next');
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press('Tab');
        if (await tab.evaluate(`document.activeElement.value === 'do'`)) break;
      }
      await Promise.all([tab.page.waitForNavigation(), keyboard.press('Enter')]);
      expect((await keyRow(app.database, key.key)).status).toBe('failed_retryable');
      expect(tab.complaints).toEqual([]);
    });

    it('the page refreshes by itself, and keeps the focus and what is being typed', async () => {
      const key = await insertUnknown(app.database);
      const tab = await browser.open('ada');
      await openKey(tab, key);
      await tab.fill('[name=reason]', 'half a sen');
      await tab.page.focus('#phases [data-copy]');
      await app.database.query(
        `UPDATE idempotency_keys SET last_error_code = 'changed_now' WHERE id = $1`,
        [key.id],
      );
      await tab.evaluate(`void document.dispatchEvent(new Event('idempotency:refresh'))`);
      await tab.page.waitForFunction(`document.body.innerText.includes('changed_now')`);
      expect(await tab.evaluate(`document.activeElement.hasAttribute('data-copy')`)).toBe(true);
      expect(await tab.valueOf('[name=reason]')).toBe('half a sen');
      expect(tab.complaints).toEqual([]);
    });

    it('a form of another site does nothing, although the browser is signed in', async () => {
      const key = await insertUnknown(app.database);
      const tab = await browser.open('ada');
      await tab.page.setRequestInterception(true);
      tab.page.on('request', (request) => {
        if (!request.url().startsWith('http://evil.example')) return void request.continue();
        return void request.respond({
          contentType: 'text/html',
          body: `<form method="post" action="${app.page}/decide">${Object.entries({
            id: key.id,
            effect: key.effectKey,
            seen_status: 'unknown',
            seen_attempt: '2',
            action: 'resolve',
            outcome: 'not_executed',
            reason: 'stolen',
            step: 'do',
          })
            .map(([name, value]) => `<input name="${name}" value="${value}">`)
            .join('')}<button>Win</button></form>`,
        });
      });
      await tab.page.goto('http://evil.example/');
      await tab.click('button');
      expect(await tab.text()).toContain('Nothing was changed');
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
      expect(await auditOf(app.database, key.key)).toEqual([]);
    });
  });
});
