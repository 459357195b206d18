import { HttpException, RequestTimeoutException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases } from '../support/phase-app.js';

const LATER = [
  { says: 'a time-out', error: new RequestTimeoutException() },
  { says: '"too early"', error: new HttpException('too early', 425) },
  { says: '"too many requests"', error: new HttpException('slow down', 429) },
];

describePhases('Calls answered with "later"', (app) => {
  it.each(LATER)('leave $says in doubt: the call may have taken effect', async ({ error }) => {
    const key = `stop-${error.getStatus()}`;
    let calls = 0;
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async () => {
          calls += 1;
          throw error;
        },
      }),
    );

    for (let retry = 0; retry < 2; retry++) {
      const answer = await app.post('charge', key);
      expect(answer.status).toBe(409);
      expect(answer.json().code).toBe('outcome_unknown');
    }
    expect(calls).toBe(1);
    expect(await app.phases(key)).toMatchObject([{ state: 'intended' }]);
    expect(await keyRow(app.database, key)).toMatchObject({ status: 'unknown' });
  });

  it.each(LATER)('are repeated after $says, if the call may be repeated', async ({ error }) => {
    const key = `repeat-${error.getStatus()}`;
    const keys: string[] = [];
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: async ({ idempotencyKey }) => {
          if (keys.push(idempotencyKey) === 1) throw error;
          return 'ch_1';
        },
        inDoubt: 'repeat',
      }),
    );

    expect((await app.post('charge', key)).headers.get('idempotency-key-expires')).toBeNull();
    const retry = await app.post('charge', key);
    expect([retry.status, retry.text]).toEqual([201, 'ch_1']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});
