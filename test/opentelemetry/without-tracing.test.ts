import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { requestContext } from '../../lib/phases/request-context.js';
import { keyRow } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { post, startObservedApp, type ObservedApp } from '../telemetry/observed-app.js';

forEachPlatform('Metrics without traces', (platform) => {
  let app: ObservedApp;

  beforeAll(async () => {
    app = await startObservedApp(platform, { lease: '1s' });
  });
  afterAll(() => app.close());

  it('nothing is stored of a trace', async () => {
    await post(app, 'work/now', 'untraced');
    expect((await keyRow(app.database, 'untraced')).traceparent).toBeNull();
    const messages = await app.database.query('SELECT traceparent FROM idempotency_outbox');
    expect(messages).toEqual([{ traceparent: null }]);
  });

  it('batches and heartbeats run in the context of no request', async () => {
    const seen: { text: string; inRequest: boolean }[] = [];
    const { logger } = app.app.get(DataSource);
    const logQuery = logger.logQuery.bind(logger);
    logger.logQuery = (text, ...rest) => {
      seen.push({ text, inRequest: requestContext.surroundings !== undefined });
      return logQuery(text, ...rest);
    };
    const heartbeat = () =>
      seen.find(
        ({ text }) =>
          text.includes('locked_until') && /held|unnest/.test(text) && !text.startsWith('INSERT'),
      );
    app.handle('slow', async (phases) => {
      await phases.foreign('asked', { call: async () => 1 });
      await phases.local('noted', (tx) => tx.query('SELECT 1 AS in_the_request'));
      await until(heartbeat, 'a heartbeat');
      return {};
    });
    await post(app, 'slow', 'contexts');
    logger.logQuery = logQuery;

    const own = seen.filter(({ text }) => text.includes('in_the_request'));
    expect(own).toMatchObject([{ inRequest: true }]);
    expect(heartbeat()).toMatchObject({ inRequest: false });
    const reservations = seen.filter(({ text }) =>
      text.startsWith('INSERT INTO "idempotency_keys"'),
    );
    expect(reservations).toMatchObject([{ inRequest: false }]);
    const endings = seen.filter(({ text }) => text.trim().startsWith('UPDATE "idempotency_keys"'));
    expect(endings.at(-1)).toMatchObject({ inRequest: false });
  });
});
