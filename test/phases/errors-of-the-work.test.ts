import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { send } from '../support/http.js';
import { describePhases, note } from '../support/phase-app.js';

/** The real error of a request to a server that resets the connection. */
async function resetError(): Promise<unknown> {
  const server = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const error: unknown = await send(`http://127.0.0.1:${port}`, { method: 'GET' }).catch(
    (thrown: unknown) => thrown,
  );
  server.close();
  return error;
}

describePhases('Errors of the work', (app) => {
  it('are rethrown unchanged, even if they look like a lost connection', async () => {
    const reset = await resetError();
    expect(reset).toMatchObject({ code: 'ECONNRESET' });
    let runs = 0;
    let thrown: unknown;
    app.handle('ride', async (phases) => {
      await phases
        .local('weather_checked', async (tx) => {
          runs += 1;
          await note(tx, 'checking');
          throw reset;
        })
        .catch((error: unknown) => (thrown = error));
      // It was certainly rolled back, so the handler may continue.
      await phases.local('ride_created', (tx) => note(tx, 'ride'));
      return 'done';
    });

    expect((await app.post('ride', 'reset')).text).toBe('done');
    expect(thrown).toBe(reset);
    expect(runs).toBe(1);
    expect(await app.notes()).toEqual(['ride']);
  });

  it('are rethrown when the work uses the transaction of an earlier phase', async () => {
    let runs = 0;
    app.handle('ride', async (phases) => {
      let earlier!: EntityManager;
      await phases.local('ride_created', async (tx) => void (earlier = tx));
      await phases.local('receipt_staged', async () => {
        runs += 1;
        await note(earlier, 'receipt');
      });
    });

    expect((await app.post('ride', 'stale')).status).toBe(500);
    expect(runs).toBe(1);
    expect(app.logs).toEqual([expect.stringMatching(/AlreadyReleasedError/)]);
  });

  it.each([
    ['undefined', undefined],
    ['a text', 'no'],
    ['null', null],
  ])('are rethrown even if they are not Error objects: %s', async (_, value) => {
    let thrown: { value: unknown } | undefined;
    app.handle('ride', async (phases) => {
      await phases
        .local('ride_created', () => Promise.reject(value))
        .catch((caught: unknown) => (thrown = { value: caught }));
    });

    expect((await app.post('ride', crypto.randomUUID())).status).toBe(201);
    expect(thrown).toEqual({ value });
  });
});
