import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { operatorOf } from '../support/operator.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { startRides, type RidesApp } from './rides-app.js';
import { timedOut } from './rides.js';

const OUTAGE = Array.from({ length: 100 }, () => timedOut);

forEachPlatform('The completer', (platform) => {
  describe('The attempts of workers', () => {
    const logger = recordingLogger();
    let background: RidesApp;
    let inRequest: RidesApp;
    beforeAll(async () => {
      background = await startRides(platform, { run: 'background' }, {}, logger);
      inRequest = await startRides(platform, {}, {}, logger);
    });
    beforeEach(() => {
      for (const app of [background, inRequest]) app.provider.troubles.length = 0;
    });
    afterAll(async () => {
      await background.close();
      await inRequest.close();
    });

    /** The worker's pause is over. */
    const due = async (app: RidesApp, key: string) => {
      await age(app.database, key);
      return runJob(app, 'completer');
    };

    it('are not used up by a client that polls, and their pauses are kept', async () => {
      const key = 'polls';
      background.provider.troubles.push(timedOut, timedOut, timedOut);
      await background.request(key);
      for (let attempt = 1; attempt <= 3; attempt++) {
        expect(await due(background, key)).toBe(1);
        const before = await keyRow(background.database, key);
        expect(before).toMatchObject({ resume_attempts: attempt, status: 'failed_retryable' });
        for (let poll = 0; poll < 12; poll++) {
          expect((await background.request(key)).status).toBe(202);
        }
        expect(await keyRow(background.database, key)).toEqual(before);
      }
      expect(await due(background, key)).toBe(1);
      expect((await background.request(key)).status).toBe(201);
    });

    it('are not used up by a client that retries during an outage and leaves', async () => {
      const key = 'retries';
      inRequest.provider.troubles.push(...Array.from({ length: 12 }, () => timedOut));
      for (let retry = 0; retry < 12; retry++) {
        expect((await inRequest.request(key)).status).toBe(500);
      }
      expect(await keyRow(inRequest.database, key)).toMatchObject({
        attempt: 12,
        resume_attempts: 0,
      });
      expect(await due(inRequest, key)).toBe(1);
      expect(await keyRow(inRequest.database, key)).toMatchObject({ status: 'performed' });
      expect(await inRequest.countRides()).toBe(1);
      expect((await inRequest.request(key)).status).toBe(201);
    });

    it('end after a limit, and the client, the log and an operator are told', async () => {
      const key = 'given-up';
      background.provider.troubles.push(...OUTAGE);
      await background.request(key);
      const before = logger.errors.length;
      let attempts = 0;
      while ((await due(background, key)) === 1) attempts += 1;
      expect(attempts).toBe(10);
      expect(logger.errors.slice(before).at(-1)).toMatch(/no further one is made/);
      const { id } = await keyRow(background.database, key);
      expect(await operatorOf(background).inspect(id)).toMatchObject({
        status: 'failed_retryable',
        lastErrorCode: 'attempts_exhausted',
        resumeAttempts: 10,
        resumeAfter: null,
      });
      const refused = await background.request(key);
      expect(refused.status).toBe(409);
      expect(refused.json()).toMatchObject({ code: 'given_up', retryable: true });
      expect(refused.headers.get('retry-after')).toBe('59');

      background.provider.troubles.length = 0;
      expect(await operatorOf(background).retry(id, 'support')).toMatchObject({ changed: true });
      expect((await background.request(key)).status).toBe(202);
      expect(await due(background, key)).toBe(1);
      expect((await background.request(key)).status).toBe(201);
      expect(await keyRow(background.database, key)).toMatchObject({ resume_attempts: 1 });
    });

    it('are reported as used up again after the client failed once more', async () => {
      const key = 'failed-once-more';
      inRequest.provider.troubles.push(...OUTAGE);
      await inRequest.request(key);
      while ((await due(inRequest, key)) === 1);
      expect((await inRequest.request(key)).status).toBe(500);
      const before = logger.errors.length;
      expect(await due(inRequest, key)).toBe(1);
      expect(logger.errors.slice(before).join()).toMatch(/is given up after 10 attempt/);
      expect(await keyRow(inRequest.database, key)).toMatchObject({
        status: 'failed_retryable',
        last_error_code: 'attempts_exhausted',
        resume_after: null,
      });
    });

    it('are counted even if the worker dies in them', async () => {
      const key = 'kills';
      await background.request(key);
      for (let attempt = 1; attempt <= 2; attempt++) {
        await background.crashWorker('ride_created:before_commit', key);
        await runJob(background, 'sweeper');
        expect(await keyRow(background.database, key)).toMatchObject({
          // Nothing happened before the first phase, so there is nothing to be unknown.
          status: 'failed_retryable',
          resume_attempts: attempt,
        });
      }
      expect(await due(background, key)).toBe(1);
      expect((await background.request(key)).status).toBe(201);
    });
  });
});
