import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { shortLease } from '../support/cluster.js';
import { keyRow, lapse } from '../support/idempotent-app.js';
import { runJob } from '../support/jobs.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';

forEachPlatform('A database that stays unreachable', (platform) => {
  let app: ProxiedApp & PhaseApp;

  beforeAll(async () => {
    // The lease is how long a phase keeps trying to reach a database that is away.
    app = await startPhaseApp(
      platform,
      { idempotency: { lease: shortLease(500) } },
      startProxiedApp,
    );
  });
  beforeEach(() => app.database.query('TRUNCATE notes').then(() => undefined));
  afterAll(() => app.close());

  it('makes no answer final while it is not known whether a phase was committed', async () => {
    let runs = 0;
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      await phases
        .local('receipt_staged', async (tx) => {
          await note(tx, 'receipt');
          if (++runs === 1) await app.proxy.refuse();
        })
        .catch(() => undefined);
      await app.proxy.accept();
      return 'all is well';
    });

    const first = await app.post('ride', 'gone');
    expect(first.status).toBe(409);
    expect(first.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(await keyRow(app.database, 'gone')).toMatchObject({ status: 'failed_retryable' });
    expect(await app.notes()).toEqual(['ride']);

    expect((await app.post('ride', 'gone')).text).toBe('all is well');
    expect(await app.notes()).toEqual(['ride', 'receipt']);
  });

  it('leaves nothing in doubt that was recorded, once the reconciler has looked', async () => {
    let calls = 0;
    app.handle('ride', async (phases) => {
      const charge = phases.foreign('charge_created', {
        inDoubt: 'stop',
        call: async () => ++calls,
        record: async (tx, result) => {
          await note(tx, 'charge');
          // The commit arrives, and nothing is heard of it until the lease is over.
          if (phases.current!.attempt === 1) {
            void app.proxy.loseReply(/^COMMIT/).then(() => app.proxy.refuse());
          }
          return result;
        },
      });
      try {
        return { charge: await charge };
      } finally {
        await app.proxy.accept();
      }
    });

    const first = await app.post('ride', 'recorded');
    expect(first.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(await keyRow(app.database, 'recorded')).toMatchObject({ status: 'unknown' });
    expect(await app.phases('recorded')).toMatchObject([{ state: 'finished' }]);

    await runJob(app, 'reconciler');
    expect((await app.post('ride', 'recorded')).json()).toEqual({ charge: 1 });
    expect(calls).toBe(1);
    expect(await app.notes()).toEqual(['charge']);
  });

  it('gives 503, and a retry resumes at the last recovery point', async () => {
    let healthy = false;
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      if (!healthy) await app.proxy.refuse();
      return phases.local('receipt_staged', async (tx) => {
        await note(tx, 'receipt');
        return { attempt: phases.current!.attempt };
      });
    });

    const first = await app.post('ride', 'away');
    expect(first.status).toBe(503);
    expect(first.json()).toMatchObject({ code: 'store_unavailable', retryable: true });

    await app.proxy.accept();
    healthy = true;
    await lapse(app.database, 'away');
    expect((await app.post('ride', 'away')).json()).toEqual({ attempt: 2 });
    expect(await app.notes()).toEqual(['ride', 'receipt']);
  });
});
