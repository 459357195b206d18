import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Outbox } from 'nestjs-atomic-idempotency';
import { bootFailure } from '../module/boot-failure.js';
import { makeDue } from '../outbox/messages.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { keyRow, lapse, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { behaviour, FIRST, secret, SECOND, SECRET, startSecretsApp } from './secrets-app.js';

const LATER = new Date(Date.now() + 86_400_000);

forEachPlatform(
  'From plaintext to sealed tables',
  (platform) => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    const post = (app: IdempotentApp, path: string, key: string, what = 'body') =>
      send(`${app.url}/${path}`, { key, body: secret(what), headers: { 'x-user': 'ada' } });

    /** What every deployment has to answer for the keys from before. */
    async function serves(app: IdempotentApp): Promise<void> {
      const replay = await post(app, `plain/${SECRET}`, 'a');
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(replay.json()).toMatchObject(secret('body'));
      expect((await post(app, `plain/${SECRET}`, 'a', 'other')).status).toBe(422);
    }

    const plaintext = async () => {
      const rows = await Promise.all(
        ['keys', 'phases', 'outbox', 'audit'].map((table) =>
          database.query(
            `SELECT t::text AS row FROM idempotency_${table} t
           WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || $2 || '%'`,
            [SECRET, Buffer.from(SECRET).toString('hex')],
          ),
        ),
      );
      return rows.map((found) => found.length);
    };

    it('deployment by deployment, without a refused retry', async () => {
      const plain = await startSecretsApp(platform, undefined, { database });
      await post(plain, `plain/${SECRET}`, 'a');
      behaviour.failures = [
        () => {
          throw new Error('timed out');
        },
      ];
      expect((await post(plain, 'phased', 'b')).status).toBe(409);
      const { id } = await keyRow(database, 'b');
      await operatorOf(plain).retry(id, { who: 'eve', why: SECRET });
      expect((await post(plain, 'background', 'c')).status).toBe(202);
      expect(await plaintext()).toEqual([3, 2, 1, 1]);

      // 1. Every process can read sealed values, and none writes them.
      const keys = [FIRST];
      const reading = await startSecretsApp(
        platform,
        { keys, seal: false, plaintextUntil: LATER },
        { database },
      );
      // 2. Sealed values are written.
      const sealing = await startSecretsApp(
        platform,
        { keys, plaintextUntil: LATER.toISOString() },
        { database },
      );
      for (const app of [reading, sealing]) await serves(app);
      expect((await post(reading, 'plain/x', 'by-the-reader')).status).toBe(201);
      expect((await post(sealing, 'plain/x', 'by-the-sealer')).status).toBe(201);
      for (const app of [reading, sealing]) {
        for (const key of ['by-the-reader', 'by-the-sealer']) {
          const replay = await post(app, 'plain/x', key);
          expect(replay.headers.get('idempotent-replayed')).toBe('true');
          expect((await post(app, 'plain/x', key, 'other')).status).toBe(422);
        }
      }
      await expect(operatorOf(reading).reencrypt()).rejects.toThrow('without seal: false');
      expect(await operatorOf(sealing).erase('ada', 'eve')).toMatchObject({ reason: 'plaintext' });
      await Promise.all([plain.close(), reading.close()]);

      // 3. Everything is sealed.
      const report = await operatorOf(sealing).reencrypt();
      expect(report).toMatchObject({ rewrapped: 0, left: 0, unreadable: 0 });
      expect(report.sealed).toBeGreaterThan(6);
      expect(await plaintext()).toEqual([0, 0, 0, 0]);
      expect(await operatorOf(sealing).reencrypt()).toMatchObject({ sealed: 0 });
      await serves(sealing);
      await sealing.close();

      // 4. Plaintext is refused from now on, and nothing from before is lost.
      const strict = await startSecretsApp(platform, { keys }, { database });
      await serves(strict);
      const operator = operatorOf(strict);
      const doubt = (await operator.inspect(id))!;
      expect(doubt.audit).toMatchObject([{ why: SECRET }]);
      expect(doubt.phases[0]).toMatchObject({ result: secret('local result') });
      await operator.resolve(doubt.inDoubt!.effectKey, { outcome: 'not_executed' }, 'eve');
      expect((await post(strict, 'phased', 'b')).json()).toMatchObject({ input: secret('body') });
      await runJob(strict, 'completer');
      expect((await post(strict, 'background', 'c')).json()).toMatchObject({
        input: secret('body'),
      });
      behaviour.delivered = [];
      await makeDue(database);
      await runJob(strict, 'outbox');
      expect(behaviour.delivered).toContainEqual(secret('payload'));
      await strict.close();
    });

    it('values that cannot be read are refused, are not run again, and harm no neighbour', async () => {
      const logger = recordingLogger();
      const app = await startSecretsApp(platform, { keys: [FIRST] }, { database, logger });
      await post(app, 'plain/x', 'whole');
      await post(app, 'plain/x', 'copied');
      await post(app, 'plain/x', 'plain');
      behaviour.failures = [
        () => {
          throw new Error('timed out');
        },
      ];
      await post(app, 'phased', 'phase');
      await database.query(
        `UPDATE idempotency_keys k SET response_body = o.response_body
       FROM idempotency_keys o WHERE k.scope = o.scope AND k.key = 'copied' AND o.key = 'whole'`,
      );
      await database.query(
        `UPDATE idempotency_keys SET response_body = 'made', response_headers = '{}', response_version = 1 WHERE key = 'plain'`,
      );
      await database.query(
        `UPDATE idempotency_phases SET result = '{"plain":true}' WHERE name = 'noted' AND key_id = (SELECT id FROM idempotency_keys WHERE key = 'phase')`,
      );
      await database.query(
        `UPDATE idempotency_keys SET status = 'failed_retryable' WHERE key = 'phase'`,
      );
      await lapse(database, 'phase');
      const { runs } = behaviour;
      const answers = await Promise.all(
        ['whole', 'copied', 'plain', 'fresh'].map((key) => post(app, 'plain/x', key)),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 503, 503, 201]);
      expect(answers[1]!.json()).toMatchObject({ code: 'store_unavailable' });
      expect(answers[1]!.text).toContain('cannot be read');
      expect(Number(answers[1]!.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await post(app, 'phased', 'phase')).status).toBe(503);
      expect(behaviour.runs).toBe(runs + 1);
      expect(logger.errors.join()).toContain('copied from somewhere else');
      const operator = operatorOf(app);
      expect((await operator.inspect((await keyRow(database, 'copied')).id))!.answer).toMatchObject(
        {
          status: 201,
          unreadable: '(cannot be read: damaged)',
        },
      );

      behaviour.failures = [];
      behaviour.delivered = [];
      const phased = await Promise.all(['m1', 'm2'].map((key) => post(app, 'phased', key)));
      expect(phased.map(({ status }) => status)).toEqual([201, 201]);
      await database.query(
        `UPDATE idempotency_outbox SET payload = '{"plain":true}'
       WHERE key_id = (SELECT id FROM idempotency_keys WHERE key = 'm1')`,
      );
      await makeDue(database);
      await runJob(app, 'outbox');
      expect(behaviour.delivered).toContainEqual(secret('payload'));
      expect(behaviour.delivered).not.toContainEqual({ plain: true });
      const waiting = await database.query('SELECT last_error FROM idempotency_outbox');
      expect(waiting).toHaveLength(1);
      expect(await app.app.get(Outbox, { strict: false }).deadLetters()).toEqual([]);
      await app.close();
    });

    it('keys that cannot read the tables stop the boot, and name what is missing', async () => {
      const failure = async (encryption?: unknown) =>
        (await bootFailure({ database, idempotency: { encryption } })).message;
      expect(await failure()).toContain('Give forRoot() the encryption option');
      expect(await failure({ keys: [SECOND] })).toContain('wrapped by "first"');
      expect(await failure({ keys: [] })).toContain('at least one');
    });
  },
  ['fastify'],
);
