import { HttpException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

class CardDeclined extends HttpException {
  constructor(reason: string) {
    super({ statusCode: 402, reason }, 402);
  }
}

describePhases('Rejections', (app) => {
  it('become the final answer, which is replayed', async () => {
    let calls = 0;
    app.handle('charge', async (phases) => {
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      return phases.foreign('charge_created', {
        call: async () => {
          calls += 1;
          throw new CardDeclined('no funds');
        },
      });
    });

    const first = await app.post('charge', 'final');
    const retry = await app.post('charge', 'final');

    expect(first.status).toBe(402);
    expect(first.json()).toEqual({ statusCode: 402, reason: 'no funds' });
    expect(retry.body).toEqual(first.body);
    expect(retry.headers.get('idempotent-replayed')).toBe('true');
    expect(calls).toBe(1);
    expect(await app.phases('final')).toMatchObject([
      { name: 'ride_created', state: 'finished' },
      { name: 'charge_created', state: 'rejected', result: { status: 402 } },
    ]);
    expect(await keyRow(app.database, 'final')).toMatchObject({ status: 'completed' });
  });

  it('are rethrown on resume, without another call', async () => {
    const thrown: HttpException[] = [];
    let calls = 0;
    app.handle('charge', (phases) =>
      phases
        .foreign('charge_created', {
          call: async () => {
            calls += 1;
            throw new CardDeclined('stolen');
          },
          inDoubt: 'repeat',
        })
        .catch((error: HttpException) => {
          thrown.push(error);
          throw error;
        }),
    );

    await app.crash('recording:before', 'charge', 'again');
    expect(await app.phases('again')).toMatchObject([{ state: 'rejected' }]);
    expect(await keyRow(app.database, 'again')).toMatchObject({ recovery_point: 'started' });

    const answer = await app.post('charge', 'again');
    expect(answer.status).toBe(402);
    expect(answer.json()).toEqual({ statusCode: 402, reason: 'stolen' });
    expect(calls).toBe(1);

    const [first, resumed] = thrown.map((error) => ({
      http: error instanceof HttpException,
      status: error.getStatus(),
      response: error.getResponse(),
      name: error.name,
      message: error.message,
    }));
    expect(first).toMatchObject({ http: true, name: 'CardDeclined' });
    expect(resumed).toEqual(first);
  });

  it('can be caught, and become part of another answer', async () => {
    let calls = 0;
    app.handle('charge', async (phases) => {
      const paid = await phases
        .foreign('charge_created', {
          call: async (): Promise<boolean> => {
            calls += 1;
            throw new CardDeclined('expired');
          },
        })
        .catch((error: HttpException) => {
          if (error.getStatus() === 402) return false;
          throw error;
        });
      await phases.local('invoice_staged', (tx) => note(tx, `paid: ${paid}`));
      return { paid };
    });

    await app.crash('invoice_staged:before_commit', 'charge', 'caught');
    await app.crash('recording:before', 'charge', 'caught');
    const answer = await app.post('charge', 'caught');

    expect(answer.status).toBe(201);
    expect(answer.json()).toEqual({ paid: false });
    expect(calls).toBe(1);
    expect(await app.notes()).toEqual(['paid: false']);
  });

  it('end the doubt of an earlier attempt', async () => {
    app.handle('charge', (phases) =>
      phases.foreign('charge_created', {
        call: ({ attempt }) =>
          Promise.reject(attempt === 1 ? new Error('timeout') : new CardDeclined('no funds')),
        inDoubt: 'repeat',
      }),
    );

    expect((await app.post('charge', 'settled')).status).toBe(500);
    expect((await app.post('charge', 'settled')).status).toBe(402);
    expect(await app.phases('settled')).toMatchObject([{ state: 'rejected', attempt: 2 }]);
  });

  it('leave the outcome in doubt if they cannot be stored', async () => {
    const response: Record<string, unknown> = {};
    response['self'] = response;
    app.handle('charge', async (phases) => {
      await phases
        .foreign('charge_created', {
          call: () => Promise.reject(new HttpException(response, 402)),
        })
        .catch(() => undefined);
    });

    expect((await app.post('charge', 'unstorable')).json()).toMatchObject({
      code: 'outcome_unknown',
    });
    expect(await keyRow(app.database, 'unstorable')).toMatchObject({ status: 'unknown' });
    expect(app.logs).toContainEqual(
      expect.stringMatching(/The exception that ended phase "charge_created" cannot be stored/),
    );
  });
});
