import {
  Catch,
  ConflictException,
  ServiceUnavailableException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Outcome } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

const outcomes: Outcome[] = [];

class OutOfRockets extends Error {}

@Catch(OutOfRockets)
class OutOfRocketsFilter implements ExceptionFilter {
  catch(_error: OutOfRockets, host: ArgumentsHost): void {
    const response = host
      .switchToHttp()
      .getResponse<{ status(code: number): { send(body: unknown): void } }>();
    response.status(404).send({ sorry: true });
  }
}

const routes = new PolicyRoutes({
  watched: {
    isFinal: (outcome) => {
      outcomes.push(outcome);
      return true;
    },
  },
  never: { isFinal: () => false, onServerError: 'store' },
  always: { isFinal: () => true, onServerError: 'unknown' },
  unknown: { isFinal: () => false, onServerError: 'unknown' },
  throwing: {
    isFinal: () => {
      throw new Error('a bug in the policy');
    },
  },
});

forEachPlatform('Policies of finality', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      providers: [{ provide: APP_FILTER, useClass: OutOfRocketsFilter }],
      logger: false,
    });
  });
  afterAll(() => app.close());
  beforeEach(() => void outcomes.splice(0));

  const ask = (path: string, key: string) => send(`${app.url}/${path}`, { key });

  describe('isFinal', () => {
    it.each<[string, Error | undefined, number]>([
      ['a success', undefined, 201],
      ['an HttpException', new ConflictException('taken'), 409],
      ['an unknown error', new Error('a bug'), 500],
      ['an error that a filter maps', new OutOfRockets(), 404],
    ])('gets %s as status and error', async (name, error, status) => {
      routes.answers(() => {
        if (error) throw error;
        return {};
      });
      const key = name.replaceAll(' ', '-');
      const first = await ask('watched', key);
      expect(first.status).toBe(status);
      expect(outcomes).toEqual([{ status, error }]);
      expect(outcomes[0]!.error).toBe(error);

      // A replay asks nobody.
      const retry = await ask('watched', key);
      expect([retry.status, retry.text]).toEqual([first.status, first.text]);
      expect(outcomes).toHaveLength(1);
      expect(routes.executions).toBe(1);
    });

    it('keeps a key open whose success it does not consider final', async () => {
      routes.answers((execution) => ({ execution }));
      for (const execution of [1, 2, 3]) {
        const answer = await ask('never', 'open');
        expect([answer.status, answer.json()]).toEqual([201, { execution }]);
        expect(answer.headers.get('idempotency-key-expires')).toBeNull();
      }
      const row = await keyRow(app.database, 'open');
      expect(row).toMatchObject({
        status: 'failed_retryable',
        last_error_code: 'http_201',
        attempt: 3,
      });
    });

    it('is asked instead of onServerError whether a 5xx is stored', async () => {
      const failing = () => {
        throw new ServiceUnavailableException();
      };
      for (const [path, status] of [
        ['never', 'failed_retryable'],
        ['always', 'completed'],
        ['unknown', 'unknown'],
      ] as const) {
        routes.answers(failing);
        expect((await ask(path, `5xx-${path}`)).status).toBe(503);
        expect((await keyRow(app.database, `5xx-${path}`)).status).toBe(status);
      }
    });

    it('holds the answer if it throws, and the key is neither lost nor run again', async () => {
      routes.answers(() => ({}));
      const first = await ask('throwing', 'throwing');
      expect(first.status).toBe(503);
      expect(first.json()).toMatchObject({ code: 'store_unavailable', retryable: true });
      expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);

      expect((await ask('throwing', 'throwing')).json().code).toBe('in_progress');
      await lapse(app.database, 'throwing');
      expect((await ask('throwing', 'throwing')).json().code).toBe('outcome_unknown');
      expect(routes.executions).toBe(1);
    });
  });
});
