import { randomUUID } from 'node:crypto';
import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { uuidV7 } from '../../lib/client/uuid-v7.js';
import { bootFailure } from '../module/boot-failure.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

@Controller()
class HygieneController {
  @Post('warns')
  @Idempotent({ hygiene: 'warn', staleKeys: 'reject' })
  warns(): void {}

  @Post('recommends')
  @Idempotent({ hygiene: 'warn' })
  recommends(): void {}

  @Post('refuses')
  @Idempotent({ hygiene: 'refuse' })
  refuses(): void {}

  @Post('ids')
  @Idempotent({ hygiene: 'refuse', keyspace: 'endpoint' })
  ids(): void {}

  @Post('references')
  @Idempotent({ hygiene: 'refuse', key: (request: { body: { by: string } }) => request.body.by })
  references(): void {}

  @Post('silent')
  @Idempotent({ hygiene: 'off' })
  silent(): void {}
}

describe('Hygiene at the door', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  onEachPlatform((platform) => {
    const logger = recordingLogger();
    let app: IdempotentApp;
    beforeAll(async () => {
      const controllers = [HygieneController];
      app = await startIdempotentApp(platform, { database, controllers, logger });
    });
    const post = (path: string, key: string) => send(`${app.url}/${path}`, { key });
    const warned = () => logger.warnings.splice(0);

    it('warns once for each route and kind, without the key, and runs the request', async () => {
      const mails = ['jane.doe@example.com', 'john.roe@example.com'];
      for (const key of [...mails, '7', '8', '0'.repeat(36)]) {
        expect((await post('warns', key)).status).toBe(201);
      }
      const lines = warned();
      expect(lines).toEqual([
        expect.stringContaining('HygieneController.warns: a client sent a key that looks like'),
        expect.stringContaining('has 1 character, too few to be unique'),
        expect.stringContaining('has only 1 different characters'),
      ]);
      expect(lines[0]).toContain('an e-mail address');
      expect(lines.join()).toContain('such as a UUID');
      for (const mail of mails) expect(logger.everything.join()).not.toContain(mail);
      // Each route has its own clients.
      await post('recommends', 'jane.doe@example.org');
      expect(warned()).toHaveLength(1);
    });

    it("recommends staleKeys: 'reject' where keys tell their age", async () => {
      await post('warns', uuidV7());
      expect(warned()).toEqual([]);
      await post('recommends', randomUUID());
      expect(warned()).toEqual([]);
      await post('recommends', uuidV7());
      await post('recommends', uuidV7());
      expect(warned()).toEqual([expect.stringContaining("staleKeys: 'reject'")]);
    });

    it('refuses with 400 and the cure, and nothing runs', async () => {
      for (const [key, what] of [
        ['+4915112345678', 'a phone number'],
        ['card-4242424242424242', 'payment card'],
        ['DE89370400440532013000', 'an IBAN'],
        ['test', 'has 4 characters'],
        ['00000000-0000-0000-0000-000000000000', 'different characters'],
      ] as const) {
        const answer = await post('refuses', key);
        expect([answer.status, answer.json().code]).toEqual([400, 'key_invalid']);
        expect(answer.json().detail).toContain(what);
        expect(answer.json().detail).toContain('The Idempotency-Key header cannot be used. It ');
        expect(answer.json().detail).toContain('such as a UUID');
        expect(answer.text).not.toContain(key);
      }
      const rows = await database.query(`SELECT key FROM idempotency_keys WHERE key LIKE 'card%'`);
      expect(rows).toEqual([]);
      expect((await post('refuses', randomUUID())).status).toBe(201);
      expect(logger.everything.join()).not.toContain('4242424242424242');
    });

    it('lets ids be short where the application says that they are keys', async () => {
      expect((await post('ids', '1001')).status).toBe(201);
      expect((await post('ids', 'jane.doe@example.com')).status).toBe(400);
      const reference = (by: string) => send(`${app.url}/references`, { body: { by } });
      expect((await reference(`r-${platform.name}`)).status).toBe(201);
      const refused = await reference('jane.doe@example.com');
      expect(refused.json().detail).toContain('What this operation takes for its key');
    });

    it('says nothing where it is off', async () => {
      warned();
      expect((await post('silent', 'jane.doe@example.net')).status).toBe(201);
      expect(warned()).toEqual([]);
    });
  });

  describe('at boot', () => {
    @Controller()
    class ShortController {
      @Post('short')
      @Idempotent({ retention: '2h' })
      short(): void {}

      @Post('long')
      @Idempotent({ retention: '3d' })
      long(): void {}

      @Post('for-ever')
      @Idempotent({ retention: 'forever' })
      forEver(): void {}
    }

    onEachPlatform(
      (platform) => {
        it.each([
          [{ hygiene: 'warn' }, ['24 h, as is usual', 'ShortController.short: 2 h']],
          [
            { clientRetries: '4d' },
            ['96 h, by clientRetries', 'ShortController.short: 2 h', 'ShortController.long: 72 h'],
          ],
          [{ hygiene: 'warn', clientRetries: '1h' }, []],
          [{}, []],
        ] as const)(
          '%j warns of a retention that is shorter than retries',
          async (options, told) => {
            const logger = recordingLogger();
            const controllers = [ShortController];
            const { close } = await startIdempotentApp(platform, {
              database,
              controllers,
              idempotency: options,
              configure: (app) => app.useLogger(logger),
            });
            expect(logger.warnings).toHaveLength(told.length > 0 ? 1 : 0);
            for (const words of told) expect(logger.warnings[0]).toContain(words);
            expect(logger.warnings.join()).not.toContain('forEver');
            await close();
          },
        );
      },
      // The adapters have no part in it.
      ['express'],
    );

    it("stops with hygiene: 'refuse', and refuses what is no duration", async () => {
      const controllers = [ShortController];
      const boot = (idempotency: Record<string, unknown>) =>
        bootFailure({ database, controllers, idempotency });
      expect((await boot({ hygiene: 'refuse' })).message).toContain('Lengthen retention');
      expect((await boot({ clientRetries: 'long' })).message).toContain('clientRetries');
      expect((await boot({ hygiene: 'strict' })).message).toContain("'warn', 'refuse', 'off'");
    });
  });
});
