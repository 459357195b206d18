import {
  Injectable,
  Module,
  Scope,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OperatorIntent, OperatorPageOptions } from 'nestjs-atomic-idempotency';
import { auditOf } from '../support/operator.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { decision, get, submit } from './forms.js';
import {
  access as accessByName,
  insertDeadLetter,
  insertUnknown,
  startPageApp,
  userOf,
  type PageApp,
} from './page-app.js';

@Injectable()
class Sessions {
  isStaff(user: string | undefined): boolean {
    return user === 'ada';
  }
}

/** Needs a service that only its own module knows. */
@Injectable()
class StaffGuard implements CanActivate {
  constructor(private readonly sessions: Sessions) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    request.staff = userOf(request);
    return this.sessions.isStaff(request.staff);
  }
}

@Injectable({ scope: Scope.REQUEST })
class StaffGuardPerRequest extends StaffGuard {
  constructor(sessions: Sessions) {
    super(sessions);
  }
}

@Module({ providers: [Sessions, StaffGuard, StaffGuardPerRequest] })
class StaffModule {}

const PATHS = [
  '',
  '/keys',
  '/key?id=0',
  '/letters',
  '/letter?id=0',
  '/style.css',
  '/script.js',
  '/icon.svg',
];
const ACTIONS = ['/decide', '/bulk', '/requeue'];

forEachPlatform('Access to the operator page', (platform) => {
  // One application for all that differs by what `access` says.
  let app: PageApp;
  let access: NonNullable<OperatorPageOptions['access']>;
  const logger = recordingLogger();
  beforeAll(async () => {
    const page = { access: (request: unknown, intent?: OperatorIntent) => access(request, intent) };
    app = await startPageApp(platform, page, { logger });
  });
  beforeEach(() => {
    access = accessByName;
  });
  afterAll(() => app.close());

  describe('The operator page lets in', () => {
    it.each([
      ['a guard that Nest injects into', StaffGuard],
      ['a guard with the scope of a request', StaffGuardPerRequest],
      ['an instance of a guard', new StaffGuard(new Sessions())],
    ])('whom %s lets in, and access names', async (_, guard) => {
      const guarded = await startPageApp(
        platform,
        {
          guards: [guard],
          access: (request: { staff: string }) => ({ who: request.staff, may: 'read' }),
        },
        { imports: [StaffModule], database: app.database, logger },
      );
      for (const path of PATHS) {
        const { status } = await get(`${guarded.page}${path}`);
        expect([path, status]).toEqual([path, path.includes('?id=0') ? 404 : 200]);
        expect((await get(`${guarded.page}${path}`, 'mallory')).status).toBe(403);
      }
      for (const path of ACTIONS) {
        expect((await submit(`${guarded.page}${path}`, {}, {}, 'mallory')).status).toBe(403);
      }
      expect((await get(guarded.page)).text).toContain('Signed in as <b><bdi>ada</bdi></b>');
      await guarded.close();
    });

    it('nobody whom access does not know, and tells them nothing', async () => {
      for (const path of PATHS) {
        const refused = await get(`${app.page}${path}`, '');
        expect(refused.status).toBe(403);
        expect(refused.text).not.toContain('dempoten');
        expect(refused.headers.get('cache-control')).toBe('no-store');
      }
    });

    it('with guards alone, to read: nobody is named, so nothing can be decided', async () => {
      const guarded = await startPageApp(
        platform,
        { guards: [StaffGuard], access: undefined as never },
        { imports: [StaffModule], database: app.database, logger },
      );
      const key = await insertUnknown(app.database);
      expect((await get(guarded.page)).text).toContain('Read-only: give');
      expect((await get(guarded.page)).text).toContain('<span class="pill">read-only</span>');
      const shown = await get(`${guarded.page}/key?id=${key.id}`);
      expect(shown.text).toContain('no operatorPage.access that says who decides');
      expect(shown.text).not.toContain('method="post"');
      expect((await submit(`${guarded.page}/decide`, decision(key))).status).toBe(403);
      expect((await keyRow(app.database, key.key)).status).toBe('unknown');
      await guarded.close();
    });

    it.each([
      ['a name alone', 'ada'],
      ['nobody by name', { who: ' ', may: 'all' }],
      ['an unknown right', { who: 'ada', may: 'everything' }],
      ['an unknown action', { who: 'ada', may: ['destroy'] }],
      ['no rights', { who: 'ada' }],
    ])('nobody where access returns %s, and says so in the log', async (_, returned) => {
      access = () => returned as never;
      logger.errors.length = 0;
      expect((await get(app.page)).status).toBe(403);
      expect(logger.errors.join()).toContain('operatorPage.access returned');
    });

    it('nobody where access throws: the application answers as it answers elsewhere', async () => {
      access = () => {
        throw new UnauthorizedException('Sign in first.');
      };
      const refused = await get(app.page);
      expect(refused.status).toBe(401);
      expect(refused.json()).toMatchObject({ message: 'Sign in first.' });
    });
  });

  describe('On the operator page', () => {
    it('who decided comes from access, and never from a form', async () => {
      const key = await insertUnknown(app.database);
      const done = await submit(
        `${app.page}/decide`,
        decision(key, { who: 'mallory', by: 'mallory' }),
      );
      expect(done.status).toBe(303);
      expect(await auditOf(app.database, key.key)).toEqual([
        expect.objectContaining({ who: 'ada@example.com' }),
      ]);
    });

    it('a person does what the list says, and nothing else', async () => {
      const key = await insertUnknown(app.database);
      const letter = await insertDeadLetter(app.database);
      const page = await get(`${app.page}/key?id=${key.id}`, 'tim');
      expect(page.text).toContain('Let the jobs try again');
      expect(page.text).not.toContain('value="resolve"');

      const same = { 'sec-fetch-site': 'same-origin' };
      for (const [user, action] of [
        ['tim', 'resolve'],
        ['tim', 'expire'],
        ['tim', 'evict'],
        ['rita', 'retry'],
      ] as const) {
        const refused = await submit(`${app.page}/decide`, decision(key, { action }), same, user);
        expect([user, action, refused.status]).toEqual([user, action, 403]);
      }
      const requeue = { which: 'chosen', item0: letter, reason: 'It is back' };
      expect((await submit(`${app.page}/requeue`, requeue, same, 'tim')).status).toBe(403);
      expect(await auditOf(app.database, key.key)).toEqual([]);

      const allowed = decision(key, { action: 'retry', effect: '' });
      expect((await submit(`${app.page}/decide`, allowed, same, 'tim')).status).toBe(303);
      expect((await submit(`${app.page}/requeue`, requeue, same, 'ada')).status).toBe(303);
    });

    it('each key of a bulk is authorised by itself, in the dry run and at the write', async () => {
      const intents: (OperatorIntent | undefined)[] = [];
      let closed = '';
      access = (_request, intent) => {
        intents.push(intent);
        const may = intent?.key && intent.key.scope === closed ? 'read' : 'all';
        return Promise.resolve({ who: 'ada', may });
      };
      await insertUnknown(app.database, { scope: 'a', key: 'k', route: '/bulk' });
      await insertUnknown(app.database, { scope: 'b', key: 'k', route: '/bulk' });
      await insertUnknown(app.database, { scope: 'c', key: 'k', route: '/bulk' });
      closed = 'b';
      const fields = { status: 'unknown', route: '/bulk', action: 'retry', reason: 'It is back' };
      const dryRun = await submit(`${app.page}/bulk`, { ...fields, step: 'preview' });
      expect(dryRun.text).toContain('2 keys would be changed');
      expect(dryRun.text).toContain('You may not retry these.');

      // What is in the form does not help against what access says by then.
      closed = 'c';
      const [, items = ''] = /name="items"\s+value="([^"]*)"/.exec(dryRun.text) ?? [];
      intents.length = 0;
      const done = await submit(`${app.page}/bulk`, { ...fields, items, step: 'do' });
      expect(done.text).toContain('1 key was changed, 1 left alone');
      expect(done.text).toContain('You may not do this to them.');
      expect(intents.flatMap((intent) => intent?.key?.scope ?? [])).toEqual(['a', 'c']);
      const audited = await app.database.query(
        `SELECT scope FROM idempotency_audit WHERE key = 'k'`,
      );
      expect(audited).toEqual([{ scope: 'a' }]);
    });

    it('a form about one key cannot name the call of another', async () => {
      access = (_request, intent) => ({
        who: 'ada',
        may: intent?.key?.scope === 'theirs' ? 'read' : 'all',
      });
      const mine = await insertUnknown(app.database, { scope: 'mine' });
      const theirs = await insertUnknown(app.database, { scope: 'theirs' });
      const refused = await submit(
        `${app.page}/decide`,
        decision({ id: mine.id, effectKey: theirs.effectKey }),
      );
      expect(refused.status).toBe(409);
      expect((await keyRow(app.database, theirs.key)).status).toBe('unknown');
    });
  });
});
