import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { onCluster } from '../support/cluster.js';
import { note, startPhaseApp, type PhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp, type ProxiedApp } from '../support/proxied-app.js';

forEachPlatform('Round trips', (platform) => {
  let app: ProxiedApp & PhaseApp;

  beforeAll(async () => {
    app = await startPhaseApp(platform, {}, startProxiedApp);
    app.handle('plain', async () => ({ done: true }));
  });
  beforeEach(() => app.database.query('TRUNCATE notes').then(() => undefined));
  afterAll(() => app.close());

  /** Of a request that is alone. */
  async function trips(path: string): Promise<number> {
    const before = app.proxy.trips.length;
    const answer = await app.post(path, crypto.randomUUID());
    expect(answer.status).toBe(201);
    return app.proxy.trips.length - before;
  }

  const added = async (path: string) => (await trips(path)) - (await trips('plain'));

  it('of a fresh request are two', async () => {
    // The first request also opens a connection.
    await trips('plain');

    expect(await trips('plain')).toBe(2);
  });

  it('of a local phase are two with one statement of work, and one more for each further one', async () => {
    app.handle('one', (phases) => phases.local('one', (tx) => note(tx, 'first')));
    app.handle('three', (phases) =>
      phases.local('three', async (tx) => {
        for (const text of ['first', 'second', 'third']) await note(tx, text);
      }),
    );

    expect(await added('one')).toBe(2);
    expect(await added('three')).toBe(4);
    expect(await app.notes()).toHaveLength(4);
  });

  it('of a local phase without statements are one', async () => {
    app.handle('nothing', (phases) => phases.local('nothing', async () => ({ done: true })));

    expect(await added('nothing')).toBe(1);
  });

  it('of a foreign phase are two, and one more with a statement of its record', async () => {
    app.handle('call', (phases) => phases.foreign('call', { call: async () => 1 }));
    app.handle('record', (phases) =>
      phases.foreign('record', { call: async () => 1, record: (tx) => note(tx, 'charge') }),
    );

    expect(await added('call')).toBe(2);
    expect(await added('record')).toBe(3);
  });
});

forEachPlatform('Round trips of a phased route', (platform) => {
  let app: ProxiedApp & PhaseApp;
  beforeAll(async () => {
    app = await startPhaseApp(platform, { idempotency: { phased: true } }, startProxiedApp);
  });
  afterAll(() => app.close());

  async function trips(path: string): Promise<number> {
    const before = app.proxy.trips.length;
    expect((await app.post(path, crypto.randomUUID())).status).toBe(201);
    return app.proxy.trips.length - before;
  }

  // On a cluster each entry has a statement of its own.
  it('are one for a foreign phase, because its outcome travels with what comes next', async () => {
    app.handle('none', async () => ({ done: true }));
    app.handle('one', (phases) => phases.foreign('call', { call: async () => 1 }));
    app.handle('three', async (phases) => {
      for (const name of ['first', 'second', 'third']) {
        await phases.foreign(name, { call: async () => name });
      }
    });
    await trips('none');

    expect(await trips('none')).toBe(2);
    expect(await trips('one')).toBe(onCluster ? 4 : 3);
    expect(await trips('three')).toBe(onCluster ? 8 : 5);
  });
});
