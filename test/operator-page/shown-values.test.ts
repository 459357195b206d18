import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OperatorPageOptions, ShownEffect, ShownValue } from 'nestjs-atomic-idempotency';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { get } from './forms.js';
import { insertDeadLetter, insertUnknown, startPageApp, type PageApp } from './page-app.js';

forEachPlatform('Values on the operator page', (platform) => {
  describe('On the operator page', () => {
    let app: PageApp;
    let redact: NonNullable<OperatorPageOptions['redact']>;
    let link: NonNullable<OperatorPageOptions['link']> = () => undefined;
    const logger = recordingLogger();
    beforeAll(async () => {
      app = await startPageApp(
        platform,
        { redact: (value, where) => redact(value, where), link: (effect) => link(effect) },
        { logger },
      );
    });
    afterAll(() => app.close());

    it('redact is told what it looks at, and for whom', async () => {
      const seen: [unknown, ShownValue][] = [];
      redact = (value, where) => {
        seen.push([value, where]);
        return 'hidden';
      };
      const { id } = await insertUnknown(app.database);
      await insertDeadLetter(app.database);

      await get(`${app.page}/key?id=${id}`);
      await get(`${app.page}/letters`);
      expect(seen).toEqual([]);

      const shown = await get(`${app.page}/key?id=${id}&values=shown`);
      expect(shown.text).not.toContain('moon');
      expect(shown.text).toContain('hidden');
      await get(`${app.page}/letters?values=shown`);
      const who = 'ada@example.com';
      const of = (phase: string) => ({ who, phase, route: '/rides' });
      expect(seen).toEqual([
        [{ rideId: 7 }, { kind: 'phase_result', ...of('ride_created') }],
        [
          { amount: 2500, currency: 'eur' },
          { kind: 'phase_request', ...of('charge_created') },
        ],
        [null, { kind: 'phase_result', ...of('charge_created') }],
        [{ target: 'moon' }, { kind: 'request', who, route: '/rides' }],
        [{ rideId: 7 }, { kind: 'payload', who, topic: 'ride.receipt' }],
      ]);
    });

    it('what redact cannot handle is not shown, and a link that cannot be made is left out', async () => {
      const effects: ShownEffect[] = [];
      redact = () => {
        throw new Error('no rule');
      };
      link = (effect) => {
        effects.push(effect);
        throw new Error('no address');
      };
      const key = await insertUnknown(app.database);
      const page = await get(`${app.page}/key?id=${key.id}&values=shown`);
      expect(page.status).toBe(200);
      expect(page.text).toContain('the application could not redact it');
      expect(page.text).not.toContain('2500');
      expect(page.text).not.toContain('Look it up');
      expect(effects).toEqual([
        {
          effectKey: key.effectKey,
          phase: 'charge_created',
          route: '/rides',
          request: { amount: 2500, currency: 'eur' },
          result: null,
        },
      ]);
      expect(logger.errors.join()).toContain('operatorPage.redact threw');
      expect(logger.errors.join()).toContain('operatorPage.link threw');
    });

    it('an answer says so when the database does not', async () => {
      const impatient = await startPageApp(
        platform,
        {},
        { idempotency: { storeTimeout: 500 }, database: app.database, logger },
      );
      const client = await app.database.pool.connect();
      await client.query('BEGIN; LOCK TABLE idempotency_keys IN ACCESS EXCLUSIVE MODE');
      try {
        const page = await get(impatient.page);
        expect(page.status).toBe(503);
        expect(page.text).toContain('The database did not answer in time.');
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
      expect((await get(impatient.page)).status).toBe(200);
      await impatient.close();
    });
  });
});
