import { describe, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases } from '../support/phase-app.js';

describe('Intents', () => {
  describePhases('that the database refuses', (app) => {
    it("give 503 without a call, with the database's message in the log, and a retry continues", async () => {
      let calls = 0;
      app.handle('charge', (phases) =>
        phases.foreign('charged', { call: async () => ({ calls: ++calls }) }),
      );
      await app.database.query(`
        CREATE FUNCTION refuse_intents() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no room left'; END $$`);
      await app.database.query(`
        CREATE TRIGGER refuse_intents BEFORE INSERT ON idempotency_phases
          FOR EACH ROW EXECUTE FUNCTION refuse_intents()`);
      expect((await app.post('charge', 'refused')).status).toBe(503);
      expect(calls).toBe(0);
      expect(app.logs.join('\n')).toMatch(
        /intent of phase "charged" could not be recorded, so its call was not made:.*no room left \(P0001\)/,
      );
      expect(await keyRow(app.database, 'refused')).toMatchObject({ status: 'failed_retryable' });

      await app.database.query('DROP TRIGGER refuse_intents ON idempotency_phases');
      expect((await app.post('charge', 'refused')).json()).toEqual({ calls: 1 });
    });
  });
});
