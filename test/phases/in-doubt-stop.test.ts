import { randomUUID } from 'node:crypto';
import { BadGatewayException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases } from '../support/phase-app.js';

const errors: [what: string, error: unknown][] = [
  ['a time-out', new DOMException('The operation was aborted', 'TimeoutError')],
  ['a reset', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })],
  ['an HttpException of 500 and above', new BadGatewayException('the provider answered 500')],
  ['something that is not an Error', 'oops'],
];

describePhases(
  'inDoubt: stop',
  (app) => {
    it.each(errors)('makes the outcome of %s unknown, by default', async (_, error) => {
      const key = randomUUID();
      let calls = 0;
      app.handle('charge', (phases) =>
        phases.foreign('charge_created', {
          call: () => {
            calls += 1;
            return Promise.reject(error);
          },
        }),
      );

      const first = await app.post('charge', key);
      const retry = await app.post('charge', key);

      for (const answer of [first, retry]) {
        expect(answer.status).toBe(409);
        expect(answer.json()).toMatchObject({ code: 'outcome_unknown', retryable: true });
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect(calls).toBe(1);
      expect(await app.phases(key)).toMatchObject([{ state: 'intended', in_doubt: 'stop' }]);
      expect(await keyRow(app.database, key)).toMatchObject({
        status: 'unknown',
        recovery_point: 'started',
        last_error_code: 'in_doubt',
        response_status: null,
      });
    });

    it.each([
      ['returns an answer of its own', () => ({ paid: 'maybe' })],
      [
        'turns the error into a client error',
        () => {
          throw new BadGatewayException();
        },
      ],
    ])('tells the client so even if the handler %s', async (_, instead) => {
      const key = randomUUID();
      app.handle('charge', (phases) =>
        phases
          .foreign('charge_created', { call: () => Promise.reject(new Error('timeout')) })
          .catch(instead),
      );

      const answer = await app.post('charge', key);

      expect(answer.status).toBe(409);
      expect(answer.json()).toMatchObject({ code: 'outcome_unknown' });
      expect(answer.text).not.toContain('maybe');
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
      // The handler caught it, so nobody else would tell the operator.
      expect(app.logs).toContainEqual(
        expect.stringMatching(/Phase "charge_created" of idempotency key \d+ is in doubt.*timeout/),
      );
    });

    it('ignores isFinal', async () => {
      app.handle('charge', (phases) =>
        phases
          .foreign('charge_created', { call: () => Promise.reject(new Error('timeout')) })
          .catch(() => 'fine'),
      );

      await app.post('charge', 'final');

      expect(await keyRow(app.database, 'final')).toMatchObject({ status: 'unknown' });
    });
  },
  { idempotency: { isFinal: () => true } },
);
