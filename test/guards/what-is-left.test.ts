import { channel } from 'node:diagnostics_channel';
import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { OpenTransactions } from '../../lib/phases/open-transactions.js';
import { requestContext } from '../../lib/phases/request-context.js';
import { startPhaseApp } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';

const CHANNELS = [
  'http.server.request.start',
  'http.client.request.created',
  'http.client.request.start',
  'undici:request:create',
];

forEachPlatform('The guards', (platform) => {
  it('leave no listener and no subscriber in a closed application', async () => {
    const watched = () => CHANNELS.filter((name) => channel(name).hasSubscribers);
    expect(watched()).toEqual([]);
    const app = await startPhaseApp(platform);
    const { subscribers } = app.app.get(DataSource);
    expect(watched()).toEqual(CHANNELS);
    expect(subscribers.length).toBeGreaterThan(0);

    await app.close();

    expect(watched()).toEqual([]);
    expect(subscribers).toEqual([]);
  });

  it('keep no transaction of a request that has ended it', async () => {
    const app = await startPhaseApp(platform, { idempotency: { foreignCalls: 'ignore' } });
    const dataSource = app.app.get(DataSource);
    let transactions: OpenTransactions | undefined;
    const kept: number[] = [];
    const count = () =>
      kept.push(
        Object.values(transactions!).flatMap((runners) => [...(runners as Map<unknown, unknown>)])
          .length,
      );
    app.handle('ride', async (phases) => {
      ({ transactions } = requestContext.surroundings!);
      await dataSource.transaction(async () => void count());
      await dataSource.transaction(async () => undefined).then(count);
      await phases.local('created', async () => undefined).then(count);
    });
    expect((await app.post('ride', 'ride')).status).toBe(201);
    expect(kept).toEqual([1, 0, 0]);
    await app.close();
  });
});
