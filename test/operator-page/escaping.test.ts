import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { onEachPlatform } from '../support/platforms.js';
import { describeInBrowser } from './browser.js';
import { insertDeadLetter, insertUnknown, startPageApp, type PageApp } from './page-app.js';

/** Each is at home in another place: text, a double-quoted or a bare attribute, a script, an address. */
const ATTACKS = [
  `<img src=x onerror=alert('NAME')>`,
  `"><script>alert('NAME')</script>`,
  `' autofocus onfocus=alert('NAME') x='`,
  `</textarea></title></pre></code></bdi></svg><svg onload=alert('NAME')>`,
  'javascript:alert(`NAME`)',
  `\u202E\u2066gnihtemos\u0000`.replaceAll('\0', '\u0001'),
];

const attackIn = (name: string) => ATTACKS.join(' ').replaceAll('NAME', name);

describeInBrowser('What others have written', (browser) => {
  onEachPlatform((platform) => {
    let app: PageApp;
    let id: string;
    let letter: string;
    beforeAll(async () => {
      const environment = attackIn('environment');
      app = await startPageApp(platform, {
        environment,
        access: () => ({ who: attackIn('who'), may: 'all' }),
        link: ({ phase }) => `javascript:alert('${phase}')`,
      });
      const { database } = app;
      ({ id } = await insertUnknown(database, {
        key: attackIn('key'),
        scope: attackIn('scope'),
        endpoint: attackIn('endpoint'),
        route: attackIn('route'),
        phase: attackIn('phase'),
      }));
      const value = JSON.stringify({ [attackIn('name')]: attackIn('value') });
      await database.query(
        `UPDATE idempotency_keys SET method = $2, path = $3, last_error_code = $4, operation = $5, recovery_point = $6,
                                     request = $7 WHERE id = $1`,
        [id, ...['method', 'path', 'error', 'operation', 'recovery'].map(attackIn), value],
      );
      await database.query(
        'UPDATE idempotency_phases SET request = $2, result = $2 WHERE key_id = $1',
        [id, value],
      );
      const state = JSON.stringify({ status: attackIn('before'), attempt: 1, lastErrorCode: null });
      await database.query(
        `INSERT INTO idempotency_audit (key_id, scope, endpoint, key, action, who, why, before, after)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
        [id, ...['scope', 'endpoint', 'key', 'action', 'auditor', 'why'].map(attackIn), state],
      );
      letter = await insertDeadLetter(database, {
        scope: attackIn('scope'),
        keyId: id,
        topic: attackIn('topic'),
        error: attackIn('delivery'),
        orderingKey: attackIn('ordering'),
        payload: { [attackIn('member')]: attackIn('payload') },
      });
      await database.query(
        `INSERT INTO idempotency_audit (key_id, scope, message_id, action, who, why, before, after)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
        [
          id,
          attackIn('scope'),
          letter,
          ...['action', 'requeuer', 'why'].map(attackIn),
          JSON.stringify({ status: attackIn('before'), topic: attackIn('topic'), attempts: 20 }),
        ],
      );
    });
    afterAll(() => app.close());

    it.each([
      ['the overview', () => ''],
      ['the keys', () => '/keys?status=unknown'],
      ['the keys by another way', () => `/keys?id=${id}`],
      ['one key', () => `/key?id=${id}&values=shown`],
      ['the dead letters', () => '/letters?values=shown'],
      [
        'one message',
        () =>
          `/letter?${new URLSearchParams({ scope: attackIn('scope'), id: letter, values: 'shown' }).toString()}`,
      ],
      [
        'a search for it',
        () =>
          `/keys?${new URLSearchParams({ key: attackIn('q'), scope: attackIn('q'), route: attackIn('q'), older: attackIn('q'), effect: attackIn('q'), id: attackIn('q'), status: attackIn('q') }).toString()}`,
      ],
      [
        'a search for a topic',
        () => `/letters?${new URLSearchParams({ topic: attackIn('q') }).toString()}`,
      ],
      ['a note in the address', () => `?done=${encodeURIComponent(attackIn('q'))}`],
      ['a key that does not exist', () => `/key?id=${encodeURIComponent(attackIn('q'))}`],
    ])('is text, and nothing else, on %s', async (_, path) => {
      const tab = await browser.open('ada');
      await tab.page.goto(`${app.page}${path()}`, { waitUntil: 'load' });
      // The policy had nothing to block, and no script but ours ran.
      expect(tab.complaints.filter((line) => !line.includes('404'))).toEqual([]);
      expect(await foreignMarkup(tab)).toEqual([]);
      expect(await tab.text()).not.toContain('\u202E');
    });

    it('is text in a preview, in a dry run and in a form that is shown again', async () => {
      const tab = await browser.open('ada');
      await tab.page.goto(`${app.page}/key?id=${id}`);
      await tab.page.click('input[value=executed]');
      await tab.fill('[name=result]', JSON.stringify(attackIn('result')));
      await tab.fill('[name=reason]', attackIn('reason'));
      await tab.fill('[name=evidence]', attackIn('evidence'));
      await tab.click('button[value=preview]');
      expect(await foreignMarkup(tab)).toEqual([]);
      await tab.click('button[value=edit]');
      expect(await tab.valueOf('[name=evidence]')).toBe(attackIn('evidence').trim());
      expect(await foreignMarkup(tab)).toEqual([]);

      await tab.page.goto(`${app.page}/keys?status=unknown`);
      await tab.page.click('#bulk > summary');
      await tab.page.click('#bulk input[value=retry]');
      await tab.fill('#reason-bulk', attackIn('reason'));
      await tab.click('#bulk button[value=preview]');
      expect(await tab.text()).toContain('1 key would be changed');
      expect(await foreignMarkup(tab)).toEqual([]);
      expect(tab.complaints).toEqual([]);
    });
  });
});

/** Elements and attributes that no template of the page has. */
function foreignMarkup(tab: { evaluate<T>(expression: string): Promise<T> }): Promise<string[]> {
  return tab.evaluate(`[...document.querySelectorAll('*')].flatMap((element) => [
    ...(element.matches('img, script:not([src]), svg:not(.trend), [autofocus], [style], iframe') ? [element.outerHTML] : []),
    ...[...element.attributes].filter(({ name, value }) => name.startsWith('on') || /^\\s*javascript:/i.test(value) && name !== 'value')
      .map(({ name, value }) => name + '=' + value),
  ])`);
}
