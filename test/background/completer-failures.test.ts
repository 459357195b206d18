import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Resumable } from 'nestjs-atomic-idempotency';
import { keyRow, startIdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { startRides, type RidesApp } from './rides-app.js';
import { declined, timedOut } from './rides.js';

forEachPlatform('Failures of the completer', (platform) => {
  let app: RidesApp;
  beforeAll(async () => {
    app = await startRides(
      platform,
      {},
      {
        maintenance: {
          sweeper: false,
          completer: false,
          reaper: false,
          reconciler: false,
          outbox: false,
        },
      },
    );
  });
  afterAll(() => app.close());

  /** The client's attempt failed, and its time to wait is over. */
  const due = async (key: string) => {
    await age(app.database, key);
    return runJob(app, 'completer');
  };

  it('are followed by another attempt after a growing pause', async () => {
    app.provider.troubles.push(timedOut, timedOut, timedOut);
    expect((await app.request('a')).status).toBe(500);
    expect(await runJob(app, 'completer')).toBe(0); // not yet
    const pauses: number[] = [];
    for (let attempt = 2; attempt <= 3; attempt++) {
      expect(await due('a')).toBe(1);
      const row = await keyRow(app.database, 'a');
      expect(row).toMatchObject({ status: 'failed_retryable', attempt });
      pauses.push(row.resume_after - row.last_run_at);
    }
    expect(Math.min(...pauses)).toBeGreaterThan(0);
    expect(await due('a')).toBe(1);
    expect(await keyRow(app.database, 'a')).toMatchObject({ status: 'performed' });
    expect((await app.request('a')).status).toBe(201);
  });

  it('give the client the rejection that a worker received', async () => {
    app.provider.troubles.push(timedOut, declined);
    await app.request('b');
    expect(await due('b')).toBe(1);
    const answer = await app.request('b');
    expect(answer.status).toBe(402);
    expect(answer.json()).toEqual({ declined: true });
    expect((await app.request('b')).headers.get('idempotent-replayed')).toBe('true');
  });

  it('leave the key unknown if a call of the worker is in doubt', async () => {
    await app.crash('ride_created:after_commit', 'c', { target: 'mars', inDoubt: 'stop' });
    await runJob(app, 'sweeper');
    app.provider.troubles.push(timedOut);
    expect(await runJob(app, 'completer')).toBe(1);
    expect(await keyRow(app.database, 'c')).toMatchObject({ status: 'unknown' });
    expect(await due('c')).toBe(0);
  });

  it('do not let an operation continue past a call in doubt', async () => {
    const before = app.provider.charges.length;
    app.provider.troubles.push(timedOut);
    expect((await app.request('bypass')).status).toBe(500);

    app.rides.free = true;
    expect(await due('bypass')).toBe(1);
    app.rides.free = false;
    expect(await keyRow(app.database, 'bypass')).toMatchObject({
      status: 'failed_retryable',
      last_error_code: 'in_doubt',
      recovery_point: 'ride_created',
    });

    expect(await due('bypass')).toBe(1);
    expect(app.provider.charges).toHaveLength(before + 1);
    expect((await app.request('bypass')).status).toBe(201);
  });

  it('stop the attempts after a limit', async () => {
    app.provider.troubles.push(...Array.from({ length: 20 }, () => timedOut));
    await app.request('d');
    let attempts = 1;
    while ((await due('d')) === 1) attempts += 1;
    app.provider.troubles.length = 0;
    expect(attempts).toBe(11); // the client's own and ten more
    expect(await keyRow(app.database, 'd')).toMatchObject({
      status: 'failed_retryable',
      last_error_code: 'attempts_exhausted',
      resume_after: null,
    });
    // The client may still come back.
    expect((await app.request('d')).status).toBe(201);
  });
});

forEachPlatform('Operations of the completer', (platform) => {
  describe('that this process does not have', () => {
    it('are reported once and kept', async () => {
      const rides = await startRides(platform);
      rides.provider.troubles.push(timedOut);
      await rides.request('e');
      await age(rides.database, 'e');

      const logger = recordingLogger();
      const other = await startIdempotentApp(platform, { database: rides.database, logger });
      await runJob(other, 'completer');
      await runJob(other, 'completer');
      expect(logger.warnings.filter((warning) => warning.includes('"rides.create"'))).toHaveLength(
        1,
      );
      expect(await keyRow(rides.database, 'e')).toMatchObject({ status: 'failed_retryable' });
      await other.close();
      await rides.close();
    });
  });

  it('are refused at boot if two have the same name', async () => {
    @Injectable()
    class One {
      @Resumable('same')
      async run(): Promise<void> {}
    }
    @Injectable()
    class Two {
      @Resumable('same')
      async run(): Promise<void> {}
    }
    await expect(
      startIdempotentApp(platform, { providers: [One, Two], logger: false }),
    ).rejects.toThrow(/@Resumable\('same'\).*Rename one/);
  });
});
