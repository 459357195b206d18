import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { lapse } from '../support/idempotent-app.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';
import { TAKE_OVER } from '../support/store-statements.js';

forEachPlatform('Concurrent takeovers', (platform) => {
  let app: ProxiedApp & PhaseApp;

  beforeAll(async () => {
    app = await startPhaseApp(platform, {}, startProxiedApp);
  });
  afterAll(() => app.close());

  it('of one lapsed key: one of two requests runs it', async () => {
    const running = barrier();
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      if (phases.current!.attempt > 1) await running.pass();
      await phases.local('receipt_staged', (tx) => note(tx, 'receipt'));
      return `attempt ${phases.current!.attempt}`;
    });
    await app.crash('receipt_staged:before_commit', 'ride', 'k');

    // Both have decided to take the key over before either has done it.
    const takeovers = [app.proxy.holdStatement(TAKE_OVER), app.proxy.holdStatement(TAKE_OVER)];
    const answers = [app.post('ride', 'k'), app.post('ride', 'k')];
    await Promise.all(takeovers.map(({ reached }) => reached));
    for (const { release } of takeovers) release();

    const first = await Promise.race(answers);
    expect(first.json()).toMatchObject({ status: 409, code: 'in_progress' });
    await running.arrived();
    running.open();

    const texts = (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
    expect(texts).toContain('201 attempt 2');
    expect(running.count).toBe(1);
    expect(await app.notes()).toEqual(['ride', 'receipt']);
  });

  it('do not take the key of a stalled owner that records something meanwhile', async () => {
    const stalled = barrier();
    const called = barrier();
    const effectKeys: string[] = [];
    app.handle('charge', async (phases) => {
      const { attempt } = phases.current!;
      await phases.local('charge_prepared', async () => 1);
      if (attempt === 1) await stalled.pass();
      return phases.foreign('charge_created', {
        inDoubt: 'repeat',
        call: async ({ idempotencyKey }) => {
          effectKeys.push(idempotencyKey);
          if (attempt === 1) await called.pass();
          return `attempt ${attempt}`;
        },
      });
    });

    // The first attempt stalls, and a second request has already looked at what it recorded ...
    const first = app.post('charge', 'stalled');
    await stalled.arrived();
    await lapse(app.database, 'stalled');
    const takeover = app.proxy.holdStatement(TAKE_OVER);
    const second = app.post('charge', 'stalled');
    await takeover.reached;
    // ... when the first one makes its call after all, and stalls again.
    stalled.open();
    await called.arrived();
    await lapse(app.database, 'stalled');
    takeover.release();

    expect((await second).text).toBe('attempt 2');
    called.open();
    expect((await first).json()).toMatchObject({ code: 'lease_lost' });
    expect(effectKeys).toHaveLength(2);
    expect(new Set(effectKeys).size).toBe(1);
  });
});
