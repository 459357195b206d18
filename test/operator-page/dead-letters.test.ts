import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OperatorIntent, OperatorPageOptions } from 'nestjs-atomic-idempotency';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { get, submit } from './forms.js';
import {
  access as accessByName,
  insertDeadLetter,
  insertUnknown,
  startPageApp,
  type MadeKey,
  type PageApp,
} from './page-app.js';

const REASON = 'The mail server is back';

forEachPlatform('Dead letters on the operator page', (platform) => {
  let app: PageApp;
  let key: MadeKey;
  let id: string;
  let access: NonNullable<OperatorPageOptions['access']>;
  beforeAll(async () => {
    app = await startPageApp(platform, {
      access: (request: unknown, intent?: OperatorIntent) => access(request, intent),
    });
    key = await insertUnknown(app.database, { scope: 'acme' });
  });
  beforeEach(async () => {
    access = accessByName;
    await app.database.query('TRUNCATE idempotency_outbox, idempotency_audit');
    id = await insertDeadLetter(app.database, { scope: 'acme', keyId: key.id });
  });
  afterAll(() => app.close());

  const requeue = (fields: Record<string, string>, user = 'ada') =>
    submit(`${app.page}/requeue`, { which: 'chosen', ...fields }, undefined, user);
  const isDead = async (message: string) => {
    const [row] = await app.database.query<{ dead: boolean }>(
      'SELECT dead_at IS NOT NULL AS dead FROM idempotency_outbox WHERE id = $1',
      [message],
    );
    return row!.dead;
  };

  describe('One message', () => {
    const page = () => `${app.page}/letter?scope=acme&id=${id}`;

    it('is shown with its key and its last error; its payload only when it is asked for', async () => {
      const { text } = await get(page());
      expect(text).toContain('The mail server refused the connection.');
      expect(text).toContain(`key?id=${key.id}"`);
      expect(text).not.toContain('rideId');
      expect((await get(`${page()}&values=shown`)).text).toContain('rideId');
    });

    it('is requeued with a reason; the audit of the message and of its key tell who and why', async () => {
      const done = await requeue({ from: 'letter', scope: 'acme', item0: id, reason: REASON });
      expect(done.status).toBe(303);
      const address = new URL(done.headers.get('location')!, `${app.page}/requeue`).href;
      const { text } = await get(address);
      expect(text).toContain('requeued');
      for (const shown of [text, (await get(`${app.page}/key?id=${key.id}`)).text]) {
        expect(shown).toContain('<b><bdi>requeue</bdi></b> by <bdi>ada@example.com</bdi>');
        expect(shown).toContain(`<bdi>${REASON}</bdi>`);
      }
      const report = await operatorOf(app).inspect(key.id);
      expect(report!.audit).toMatchObject([
        { action: 'requeue', messageId: id, who: 'ada@example.com', why: REASON },
      ]);
      expect(report!.timeline).toContainEqual(
        expect.objectContaining({ what: 'requeue by ada@example.com' }),
      );
    });

    it('is known by its audit alone when it was delivered', async () => {
      await requeue({ item0: id, reason: REASON });
      await app.database.query('DELETE FROM idempotency_outbox');
      const { status, text } = await get(page());
      expect(status).toBe(200);
      expect(text).toContain('It is not in the outbox any more: it was delivered.');
      expect(text).toContain(REASON);
    });

    it.each([
      ['another scope', () => `${app.page}/letter?scope=other&id=${id}`],
      ['no id', () => `${app.page}/letter`],
      ['an id that is none', () => `${app.page}/letter?id=17`],
    ])('is not found by %s', async (_, address) => {
      expect((await get(address())).status).toBe(404);
    });

    it('shows no form to a person who may not requeue it', async () => {
      expect((await get(page(), 'rita')).text).not.toContain('method="post"');
    });
  });

  describe('Requeuing', () => {
    it.each(['chosen', 'all'])('needs a reason: %s', async (which) => {
      const refused = await requeue({ which, item0: id });
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('the audit needs a reason');
      expect(await isDead(id)).toBe(true);
    });

    it('reaches letters far behind the first page of the list', async () => {
      await app.database.query(
        `INSERT INTO idempotency_outbox (id, topic, last_error, dead_at)
         SELECT gen_random_uuid(), 'ride.receipt', 'x', now() - interval '1 hour' FROM generate_series(1, 250)`,
      );
      expect((await requeue({ item0: id, reason: REASON })).status).toBe(303);
      expect(await isDead(id)).toBe(false);
    });

    it('carries the reason from the dry run to the audit', async () => {
      const dryRun = await requeue({ which: 'all', topic: 'ride.receipt', reason: REASON });
      expect(dryRun.text).toContain(`name="reason" value="${REASON}"`);
      expect(await isDead(id)).toBe(true);
    });

    it('authorises each message by itself, with its scope and its topic', async () => {
      const closed = await insertDeadLetter(app.database, { scope: 'closed' });
      const intents: OperatorIntent[] = [];
      access = (_request, intent) => {
        if (intent) intents.push(intent);
        return { who: 'ada', may: intent?.message?.scope === 'closed' ? 'read' : 'all' };
      };
      const refused = await requeue({ item0: id, item1: closed, reason: REASON });
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('You may not requeue 1 of the messages.');
      expect([await isDead(id), await isDead(closed)]).toEqual([false, true]);
      expect(intents).toContainEqual({
        action: 'requeue',
        message: { scope: 'closed', id: closed, topic: 'ride.receipt' },
      });
    });

    it('says how many messages are left when access fails in the middle', async () => {
      const others: string[] = [];
      for (let n = 0; n < 9; n++) others.push(await insertDeadLetter(app.database));
      access = (_request, intent) => {
        if (intent?.message?.id === others[5]) throw new Error('The directory is down.');
        return { who: 'ada', may: 'all' };
      };
      const items = Object.fromEntries(others.map((letter, n) => [`item${n}`, letter]));
      const refused = await requeue({ ...items, reason: REASON });
      expect(refused.status).toBe(500);
      const left = await Promise.all(others.map(isDead));
      const dead = left.filter(Boolean).length;
      expect(left[5]).toBe(true);
      expect(refused.text).toContain(`${dead} of the messages are left`);
    });
  });
});
