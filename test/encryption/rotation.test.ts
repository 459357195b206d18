import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EncryptionOptions, MasterKeyProvider } from 'nestjs-atomic-idempotency';
import { LocalMasterKeys } from '../../lib/encryption/master-keys.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import type { IdempotentApp } from '../support/idempotent-app.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { behaviour, FIRST, secret, SECOND, startSecretsApp } from './secrets-app.js';

forEachPlatform(
  'Master keys',
  (platform) => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(() => database.drop());

    const start = (encryption: EncryptionOptions) =>
      startSecretsApp(platform, encryption, { database });
    const post = (app: IdempotentApp, user: string, key: string) =>
      send(`${app.url}/plain/x`, { key, body: secret(key), headers: { 'x-user': user } });
    const masterKeys = async () => {
      const rows = await database.query(
        'SELECT DISTINCT master_key AS id FROM idempotency_data_keys ORDER BY 1',
      );
      return rows.map(({ id }) => id as string);
    };

    it('are rotated in three deployments under load, and no request fails', async () => {
      behaviour.hold = undefined;
      const first = { keys: [FIRST] };
      const apps = [await start(first), await start(first)];
      const failures: string[] = [];
      let sent = 0;
      let over = false;
      /** Each request is sent twice, to the instances that are up, from a scope of its own or a shared one. */
      async function load(lane: number): Promise<void> {
        while (!over) {
          const number = (sent += 1);
          const user = number % 3 === 0 ? `user-${number}` : `lane-${lane}`;
          const bodies: string[] = [];
          for (const turn of [0, 1]) {
            const app = apps[(lane + turn) % 2]!;
            const { status, text } = await post(app, user, `k-${number}`);
            if (status !== 201) failures.push(`${status} ${text}`);
            bodies.push(text);
          }
          if (bodies[0] !== bodies[1]) failures.push(`${bodies[0]} is not ${bodies[1]}`);
        }
      }
      const loads = [0, 1, 2].map(load);
      const some = async () => {
        const before = sent;
        await until(() => sent > before + 20);
      };
      const retired: IdempotentApp[] = [];
      /** A rolling deployment: the new instance takes over before the old one is stopped. */
      async function deploy(encryption: EncryptionOptions): Promise<void> {
        for (const index of [0, 1]) {
          const next = await start(encryption);
          retired.push(apps[index]!);
          apps[index] = next;
          await some();
        }
      }
      await some();
      await deploy({ keys: [FIRST, SECOND] });
      await deploy({ keys: [SECOND, FIRST] });
      expect((await operatorOf(apps[0]!).reencrypt()).rewrapped).toBeGreaterThan(1);
      expect(await masterKeys()).toEqual(['second']);
      await deploy({ keys: [SECOND] });
      over = true;
      await Promise.all(loads);
      expect(failures).toEqual([]);
      // What was stored under the first key is read with the second alone.
      const replay = await post(apps[0]!, 'user-3', 'k-3');
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      for (const app of [...retired, ...apps]) await app.close();
    });

    it('of a service are asked once per scope, and an outage refuses requests', async () => {
      const local = new LocalMasterKeys([FIRST]);
      const asked = { wrap: 0, unwrap: 0 };
      let down = false;
      const provider: MasterKeyProvider = {
        currentKeyId: FIRST.id,
        async wrap(dataKey, context) {
          asked.wrap += 1;
          if (down) throw new Error('The service is down.');
          return local.wrap(dataKey, context);
        },
        async unwrap(wrapped, keyId, context) {
          asked.unwrap += 1;
          if (down) throw new Error('The service is down.');
          return local.unwrap(wrapped, keyId, context);
        },
      };
      const encryption = { provider, dataKeyCache: { maxAge: 0 } };
      const apps = [await start(encryption), await start(encryption)] as const;
      // Both make the data key of one scope at once, and agree.
      const answers = await Promise.all(
        [0, 1, 2, 3].map((number) => post(apps[number % 2]!, 'kim', `s-${number}`)),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      for (const number of [0, 1, 2, 3]) {
        const replay = await post(apps[(number + 1) % 2]!, 'kim', `s-${number}`);
        expect(replay.body).toEqual(answers[number]!.body);
      }
      expect(asked.wrap).toBeLessThanOrEqual(2);
      expect(asked.unwrap).toBe(2);
      down = true;
      expect((await post(apps[0], 'kim', 's-0')).status).toBe(201);
      const refused = await post(apps[0], 'lee', 't');
      expect(refused.status).toBe(503);
      expect(refused.text).not.toContain('service is down');
      down = false;
      expect((await post(apps[0], 'lee', 't')).status).toBe(201);
      for (const app of apps) await app.close();
    });
  },
  ['express'],
);
