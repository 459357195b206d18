import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { crashAt } from '../support/crash.js';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

let gate: Barrier;

@Controller()
class SweptController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('plain')
  @Idempotent()
  plain(): object {
    return {};
  }

  @Post('harmless')
  @Idempotent({ onAbandoned: 'resume' })
  harmless(): object {
    return {};
  }

  @Post('phased')
  @Idempotent()
  async phased(): Promise<object> {
    await this.phase.local('created', async () => undefined);
    await this.phase.foreign('charged', { call: async () => undefined });
    return {};
  }

  @Post('slow')
  @Idempotent()
  async slow(): Promise<object> {
    await gate.pass();
    return {};
  }
}

forEachPlatform('The sweeper', (platform) => {
  const logger = recordingLogger();
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [SweptController], logger });
  });
  afterAll(() => app.close());

  it.each([
    ['plain', 'reserved', 'unknown', 'abandoned'],
    ['harmless', 'reserved', 'failed_retryable', 'attempt_died'],
    ['phased', 'created:after_commit', 'failed_retryable', 'attempt_died'],
    ['phased', 'charged:after_call', 'unknown', 'in_doubt'],
  ])('finds a %s request that died at %s: %s (%s)', async (route, point, status, why) => {
    const key = `${route}-${point}`;
    await crashAt(point, `${app.url}/${route}`, { key });
    expect(await runJob(app, 'sweeper')).toBe(0); // its lease is live
    await age(app.database, key);

    const before = logger.warnings.length;
    expect(await runJob(app, 'sweeper')).toBe(1);
    expect(await keyRow(app.database, key)).toMatchObject({ status, last_error_code: why });
    const { id } = await keyRow(app.database, key);
    expect(logger.warnings.slice(before).join()).toContain(`idempotency key ${id} `);
    expect(await runJob(app, 'sweeper')).toBe(0);
  });

  it('finds a request that died in its second attempt', async () => {
    const key = 'twice';
    for (let attempt = 1; attempt <= 2; attempt++) {
      await crashAt('recording:before', `${app.url}/harmless`, { key });
      await age(app.database, key);
      expect(await runJob(app, 'sweeper')).toBe(1);
      expect(await keyRow(app.database, key)).toMatchObject({
        status: 'failed_retryable',
        attempt,
      });
    }
  });

  it('does not touch keys that run or are finished', async () => {
    gate = barrier();
    const answer = send(`${app.url}/slow`, { key: 'slow' });
    await gate.arrived();
    await app.database.query(
      `UPDATE idempotency_keys SET created_at = now() - interval '1 hour' WHERE key = 'slow'`,
    );
    expect(await runJob(app, 'sweeper')).toBe(0);
    gate.open();
    expect((await answer).status).toBe(201);
    await age(app.database, 'slow');
    expect(await runJob(app, 'sweeper')).toBe(0);
    expect(await keyRow(app.database, 'slow')).toMatchObject({ status: 'completed' });
  });

  it('handles many keys in one run', async () => {
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, created_at, status)
       SELECT 'many', n::text, '', gen_random_uuid(), now() - interval '1 minute', now() - interval '1 hour',
              CASE WHEN n % 10000 = 0 THEN 'in_progress' ELSE 'completed' END
       FROM generate_series(1, 30000) n`,
    );
    expect(await runJob(app, 'sweeper')).toBe(3);
  });

  it('shares the keys with other processes: each is handled once', async () => {
    const other = await startIdempotentApp(platform, { database: app.database, logger });
    await app.database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until, created_at, on_abandoned)
       SELECT 'shared', n::text, '', gen_random_uuid(), now() - interval '1 minute', now() - interval '1 hour', 'resume'
       FROM generate_series(1, 50) n`,
    );
    const before = logger.warnings.length;
    await Promise.all([runJob(app, 'sweeper'), runJob(other, 'sweeper')]);
    expect(logger.warnings.slice(before).filter((line) => line.includes('resumed'))).toHaveLength(
      50,
    );
    await other.close();
  });
});
