import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { startRides, type RidesApp } from './rides-app.js';
import { declined } from './rides.js';

forEachPlatform('Background work', (platform) => {
  describe('A rejection whose record is lost', () => {
    let app: RidesApp;
    beforeAll(async () => {
      app = await startRides(platform, { run: 'background' });
      // The database refuses to write it down once. A sequence is not rolled back, so it knows.
      await app.database.query(`
        CREATE SEQUENCE refusals;
        CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('refusals') = 1 THEN RAISE EXCEPTION 'refused by the test'; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER refuse_once BEFORE UPDATE ON idempotency_phases
          FOR EACH ROW WHEN (NEW.state = 'rejected') EXECUTE FUNCTION refuse_once();
      `);
    });
    afterAll(() => app.close());

    it.each(['repeat', 'stop'] as const)(
      'still ends the operation, with inDoubt: %s',
      async (inDoubt) => {
        await app.database.query(`ALTER SEQUENCE refusals RESTART`);
        app.provider.troubles.push(declined);
        const ride = { target: 'mars', inDoubt };
        await app.request(inDoubt, ride);
        await age(app.database, inDoubt);
        expect(await runJob(app, 'completer')).toBe(1);

        const { id, ...row } = await keyRow(app.database, inDoubt);
        expect(row).toMatchObject({ status: 'performed' });
        const phases = await app.database.query(
          `SELECT name, state FROM idempotency_phases WHERE key_id = $1 ORDER BY position`,
          [id],
        );
        expect(phases).toEqual([
          { name: 'ride_created', state: 'finished' },
          { name: 'charge_created', state: 'rejected' },
          { name: 'operation:rides.create', state: 'rejected' },
        ]);
        for (let retry = 0; retry < 2; retry++) {
          expect((await app.request(inDoubt, ride)).status).toBe(402);
        }
        expect(await operatorOf(app).inspect(id)).toMatchObject({
          status: 'completed',
          inDoubt: null,
        });
        expect(app.provider.charges).toEqual([]);
      },
    );
  });
});
