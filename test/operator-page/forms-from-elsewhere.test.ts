import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { auditOf } from '../support/operator.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { decision, submit } from './forms.js';
import {
  insertDeadLetter,
  insertUnknown,
  startPageApp,
  type MadeKey,
  type PageApp,
} from './page-app.js';

forEachPlatform('Forms of the operator page', (platform) => {
  describe('A form', () => {
    let app: PageApp;
    let key: MadeKey;
    let letter: string;
    beforeAll(async () => {
      app = await startPageApp(platform);
      key = await insertUnknown(app.database);
      letter = await insertDeadLetter(app.database);
    });
    afterAll(() => app.close());

    const host = () => new URL(app.url).host;

    it.each<[string, () => Record<string, string>]>([
      ['of another site', () => ({ 'sec-fetch-site': 'cross-site' })],
      ['of another subdomain', () => ({ 'sec-fetch-site': 'same-site' })],
      ['of nowhere', () => ({ 'sec-fetch-site': 'none' })],
      [
        'of another site that claims our origin',
        () => ({ 'sec-fetch-site': 'cross-site', origin: app.url }),
      ],
      ['of another origin', () => ({ origin: 'http://evil.example' })],
      ['of another port', () => ({ origin: 'http://127.0.0.1:1' })],
      ['of a host that begins like ours', () => ({ origin: `http://${host()}.evil.example` })],
      ['of an origin that is hidden', () => ({ origin: 'null' })],
      ['that does not say where it comes from', () => ({})],
      ['with an address of ours in the referrer alone', () => ({ referer: app.page })],
    ])('%s changes nothing', async (_, headers) => {
      const forms: [string, Record<string, string>][] = [
        ['/decide', decision(key)],
        ['/bulk', { action: 'retry', reason: 'x', items: `${key.id}:unknown:2`, step: 'do' }],
        ['/requeue', { which: 'chosen', item0: letter, reason: 'x' }],
      ];
      for (const [path, fields] of forms) {
        const refused = await submit(`${app.page}${path}`, fields, headers());
        expect([path, refused.status]).toEqual([path, 403]);
        expect(refused.text).toContain('Nothing was changed');
      }
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
      expect(await auditOf(app.database, key.key)).toEqual([]);
      const [row] = await app.database.query(
        'SELECT dead_at FROM idempotency_outbox WHERE id = $1',
        [letter],
      );
      expect(row?.['dead_at']).toBeInstanceOf(Date);
    });

    it.each<[string, () => Record<string, string>]>([
      ['of the page itself', () => ({ 'sec-fetch-site': 'same-origin' })],
      ['of the page without TLS, where browsers send Origin alone', () => ({ origin: app.url })],
      [
        'behind a proxy that ends TLS',
        () => ({ origin: 'https://ops.example.com', host: 'ops.example.com' }),
      ],
    ])('%s is taken', async (_, headers) => {
      const another = await insertUnknown(app.database);
      expect((await submit(`${app.page}/decide`, decision(another), headers())).status).toBe(303);
      expect((await keyRow(app.database, another.key)).status).toBe('failed_retryable');
    });

    it('that is none is refused: other types of bodies can be sent from anywhere', async () => {
      for (const type of ['application/json', 'text/plain']) {
        const refused = await send(`${app.page}/decide`, {
          body: JSON.stringify(decision(key)),
          headers: { 'content-type': type, 'x-user': 'ada', 'sec-fetch-site': 'same-origin' },
        });
        expect(refused.status).toBe(415);
      }
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
    });

    it.each<[string, Record<string, string>, string]>([
      ['without a reason', { reason: ' ' }, 'Say why'],
      ['without an outcome', { outcome: '' }, 'Choose what became of it'],
      ['with a result that is no JSON', { result: '{' }, 'The result is not JSON'],
      ['with a rejection without a status', { outcome: 'rejected' }, 'Give the HTTP status'],
      [
        'with a rejection that is none',
        { outcome: 'rejected', rejection_status: '503', rejection_body: 'x' },
        '503 is not a definite answer',
      ],
      ['with an action that does not exist', { action: 'destroy' }, 'Choose what to do'],
      ['that does not say what was seen', { seen_status: '' }, 'does not say how the key was seen'],
    ])('%s is given back', async (_, fields, words) => {
      const refused = await submit(`${app.page}/decide`, decision(key, fields));
      expect(refused.status).toBe(400);
      expect(refused.text).toContain(words);
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
    });
  });
});
