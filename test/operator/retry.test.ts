import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startRides, type RidesApp } from '../background/rides-app.js';
import { timedOut } from '../background/rides.js';
import { keyRow } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { until } from '../support/until.js';

forEachPlatform('retry()', (platform) => {
  let app: RidesApp;
  beforeAll(async () => {
    app = await startRides(
      platform,
      {},
      {
        maintenance: {
          sweeper: false,
          reaper: false,
          outbox: false,
          completer: { interval: '1h', maxAttempts: 1 },
          reconciler: false,
        },
      },
    );
  });
  afterAll(() => app.close());

  it('gives an operation that the completer gave up another round each time', async () => {
    app.provider.troubles.push(timedOut, timedOut, timedOut);
    await app.request('given-up');
    await passTime(app.database, 'given-up', '1 hour');
    await runJob(app, 'completer');
    expect(await keyRow(app.database, 'given-up')).toMatchObject({
      status: 'failed_retryable',
      attempt: 2,
      resume_after: null,
    });
    const { id } = await keyRow(app.database, 'given-up');

    for (const [attempt, outcome] of [
      [3, { status: 'failed_retryable', last_error_code: 'attempts_exhausted' }],
      [4, { status: 'performed', last_error_code: null }],
    ] as const) {
      expect(await operatorOf(app).retry(id, 'support')).toMatchObject({ changed: true });
      // The completer is on here, and woken.
      await until(async () => {
        const row = await keyRow(app.database, 'given-up');
        return row.attempt === attempt && row.status === outcome.status;
      });
      expect(await keyRow(app.database, 'given-up')).toMatchObject({
        ...outcome,
        resume_after: null,
      });
    }
    expect(await app.countRides()).toBe(1);
    expect((await app.request('given-up')).status).toBe(201);
  });
});
