import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { insertKey, STATES, type StateName } from '../operator/key-states.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { later, nowIf } from '../../lib/postgres/times.js';

const JOBS = ['sweeper', 'completer', 'reconciler', 'reaper'] as const;

/**
 * What becomes of a key in each state when it is past its retention and everything
 * about it is due. A job that is not named leaves the status alone: the sweeper
 * ends dead attempts, the reaper finished and abandoned keys, and nobody but a
 * person or a reconciler touches an unknown one.
 */
const TABLE: Record<StateName, Partial<Record<(typeof JOBS)[number], string>>> = {
  pending: {}, // The last chance of the completer, which does not know its operation here.
  running: {},
  lapsed: { sweeper: 'unknown' },
  completed: { reaper: 'gone' },
  failed: { reaper: 'completed' },
  'failed, with an operation': { reaper: 'completed' },
  performed: { reaper: 'gone' },
  'failed, in doubt': { reaper: 'unknown' },
  'failed, reconciled': { reaper: 'completed' },
  'unknown, in doubt': {},
  'unknown, no phase': {},
  'unknown, phase withdrawn': {},
  expired: { reaper: 'gone' },
};

const CASES = (Object.keys(TABLE) as StateName[]).flatMap((state) =>
  JOBS.map((job) => [job, state, TABLE[state][job] ?? STATES[state].status] as const),
);

forEachPlatform('Jobs', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { logger: false });
  });
  afterAll(() => app.close());

  describe('The', () => {
    it.each(CASES)('%s leaves a key that is %s: %s', async (job, state, expected) => {
      await app.database.query('TRUNCATE idempotency_keys, idempotency_phases');
      const { id } = await insertKey(app.database, state);
      await app.database.query(
        `UPDATE idempotency_keys
         SET created_at = now() - interval '2 days', expires_at = now() - interval '1 day',
             completed_at = ${later('completed_at', "interval '-2 days'")},
             reconcile_after = ${nowIf("status = 'unknown'")}
         WHERE id = $1`,
        [id],
      );
      await runJob(app, job);
      const [row] = await app.database.query('SELECT status FROM idempotency_keys WHERE id = $1', [
        id,
      ]);
      expect(row?.status ?? 'gone').toBe(expected);
    });
  });
});
