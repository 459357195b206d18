import { HttpException } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Outcome } from 'nestjs-atomic-idempotency';
import { runJob } from '../support/jobs.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { recordingLogger } from '../support/recording-logger.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const byStatus = ({ status }: Outcome) => (status < 400 ? '30d' : '1h');

const routes = new PolicyRoutes({
  orders: { retention: byStatus },
  kept: { retention: ({ error }) => (error ? '2d' : 'forever') },
  plain: { retention: '5h' },
  failing: {
    retention: () => {
      throw new Error('secret of the answer');
    },
  },
  nonsense: { retention: () => 'a while' },
  nothing: { retention: () => 0 },
  late: { retention: (async () => '1h') as unknown as () => string },
});

const refuse = () => {
  throw new HttpException('no', 422);
};

forEachPlatform('A retention that depends on the answer', (platform) => {
  let app: IdempotentApp;
  const logger = recordingLogger();
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      idempotency: { retention: '36h' },
      logger,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => routes.answers(() => ({})));

  const ask = (path: string, key: string) => send(`${app.url}/${path}`, { key });

  /** How long the answer is kept, and what its header says of it. */
  async function kept(path: string, key: string): Promise<number | null> {
    const answer = await ask(path, key);
    const row = await keyRow(app.database, key);
    const header = answer.headers.get('idempotency-key-expires');
    expect(header).toBe(row.expires_at === null ? null : row.expires_at.toUTCString());
    return row.expires_at === null ? null : row.expires_at - row.completed_at;
  }

  it('is longer or shorter than the one of the module', async () => {
    expect(await kept('orders', 'success')).toBe(30 * DAY);
    expect(await kept('kept', 'for-ever')).toBeNull();
    routes.answers(refuse);
    expect(await kept('orders', 'refusal')).toBe(HOUR);
    expect(await kept('kept', 'error')).toBe(2 * DAY);
  });

  it('counts from the answer of a resumed attempt', async () => {
    routes.answers((execution) => {
      if (execution === 1) throw new Error('a bug');
      return {};
    });
    expect((await ask('orders', 'resumed')).status).toBe(500);
    // Without an answer, the one of the module counts.
    const open = await keyRow(app.database, 'resumed');
    expect(open.expires_at - open.created_at).toBe(36 * HOUR);
    expect(await kept('orders', 'resumed')).toBe(30 * DAY);
  });

  it('decides when the reaper comes', async () => {
    await ask('orders', 'stays');
    routes.answers(refuse);
    await ask('orders', 'goes');
    await app.database.query(
      `UPDATE idempotency_keys
       SET expires_at = expires_at - interval '2 hours', completed_at = completed_at - interval '2 hours'
       WHERE key IN ('stays', 'goes')`,
    );
    await runJob(app, 'reaper');
    await keyRow(app.database, 'stays');
    await expect(keyRow(app.database, 'goes')).rejects.toThrow('no row');
  });

  it('is overridden by a plain one, field by field', async () => {
    await ask('plain', 'plain');
    const row = await keyRow(app.database, 'plain');
    expect(row.expires_at - row.created_at).toBe(5 * HOUR);
  });

  it.each(['failing', 'nonsense', 'nothing', 'late'])(
    'falls back to the one of the module, with a line in the log (%s)',
    async (path) => {
      logger.errors.length = 0;
      expect((await ask(path, path)).status).toBe(201);
      const row = await keyRow(app.database, path);
      expect(row.expires_at - row.created_at).toBe(36 * HOUR);
      const replay = await ask(path, path);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect(logger.errors).toHaveLength(1);
      expect(logger.errors[0]).toContain(`@Idempotent() of PolicyController.`);
      expect(logger.errors[0]).toContain('so a key is kept for 129600000 ms');
    },
  );
});
