import { expect, it } from '@jest/globals';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startProxiedApp } from '../support/proxied-app.js';
import { recordingLogger } from '../support/recording-logger.js';
import { probe, withHealth } from './health-app.js';

forEachPlatform('The health check is down', (platform) => {
  it('while the database does not answer, with its words in the log only', async () => {
    const logger = recordingLogger();
    const app = await startProxiedApp(platform, { ...withHealth, logger });
    await app.proxy.refuse();
    const { status, body } = await probe(app);
    expect(status).toBe(503);
    expect(body.error).toEqual({
      idempotency: { status: 'down', degraded: false, reasons: ['The database did not answer.'] },
    });
    await probe(app);
    const lines = logger.warnings.filter((line) => line.includes('health check'));
    expect(lines).toEqual([expect.stringContaining('could not read the database')]);

    await app.proxy.accept();
    expect((await probe(app)).body.status).toBe('ok');
    await app.close();
  });

  it.each(['idempotency_keys', 'idempotency_phases', 'idempotency_audit', 'idempotency_processes'])(
    'without the table %s',
    async (table) => {
      const app = await startIdempotentApp(platform, withHealth);
      await app.database.query(`DROP TABLE ${table} CASCADE`);
      const { status, body } = await probe(app);
      expect(status).toBe(503);
      expect(body.error.idempotency).toMatchObject({
        status: 'down',
        reasons: [expect.stringContaining('migrations have not been run')],
      });
      await app.close();
    },
  );

  it('where the database accepts no writes', async () => {
    const app = await startIdempotentApp(platform, withHealth);
    await app.database.query(
      `ALTER DATABASE ${app.database.name} SET default_transaction_read_only = on`,
    );
    // Connections that are open keep the setting that they began with.
    await app.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    expect((await probe(app)).body.error.idempotency).toMatchObject({
      status: 'down',
      reasons: [expect.stringMatching(/accepts no writes|did not answer/)],
    });
    expect((await probe(app)).body.error.idempotency).toMatchObject({
      reasons: ['The database accepts no writes.'],
    });
    await app.close();
  });
});
