import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { WaitingRequests } from '../../lib/keys/waiting-requests.js';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { until } from '../support/until.js';
import { untilWaiting } from '../support/waiting.js';
import { writtenRow } from '../support/written-row.js';

const routes = new PolicyRoutes({
  impatient: { onInProgress: 'wait', waitFor: 20 },
  patient: { onInProgress: 'wait', waitFor: '55s' },
  crowded: { onInProgress: 'wait', waitFor: '55s' },
  listeners: { onInProgress: 'wait', waitFor: '55s' },
});

forEachPlatform('Duplicates that give up', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [routes.controller],
      logger: false,
    });
  });
  afterAll(() => app.close());

  let gate: Barrier;
  let failing = false;
  beforeEach(() => {
    gate = barrier();
    failing = false;
    routes.answers(async (execution) => {
      await gate.pass();
      if (failing) throw new Error('a bug');
      return { execution };
    });
  });

  async function begin(path: string) {
    const ask = (signal?: AbortSignal) => send(`${app.url}/${path}`, { key: path, signal });
    const first = ask();
    await gate.arrived();
    return { ask, first, before: await writtenRow(app.database, path) };
  }

  it('after waitFor do not disturb the running attempt', async () => {
    const { ask, first, before } = await begin('impatient');
    const duplicate = await ask();
    expect([duplicate.status, duplicate.json().code]).toEqual([409, 'in_progress']);
    expect(await writtenRow(app.database, 'impatient')).toEqual(before);

    gate.open();
    expect((await first).json()).toEqual({ execution: 1 });
    expect((await ask()).json()).toEqual({ execution: 1 });
    expect(routes.executions).toBe(1);
  });

  it('because their client leaves do not disturb the running attempt', async () => {
    const { ask, first, before } = await begin('patient');
    const client = new AbortController();
    const duplicate = ask(client.signal);
    const failure = expect(duplicate).rejects.toThrow('aborted');
    const staying = ask();
    await untilWaiting(app, 2);
    client.abort();
    await failure;
    await untilWaiting(app, 1);
    expect(await writtenRow(app.database, 'patient')).toEqual(before);

    gate.open();
    for (const answer of await Promise.all([first, staying])) {
      expect(answer.json()).toEqual({ execution: 1 });
    }
    expect(routes.executions).toBe(1);
  });

  it('because their clients leave wait no longer, and take no key that becomes free', async () => {
    const { ask, first } = await begin('crowded');
    const responses: ServerResponse[] = [];
    const watch = (_request: unknown, response: ServerResponse) => void responses.push(response);
    app.app.getHttpServer().on('request', watch);
    const clients = Array.from({ length: 20 }, () => new AbortController());
    const left = clients.map(({ signal }) => expect(ask(signal)).rejects.toThrow('aborted'));
    await untilWaiting(app, clients.length);
    for (const client of clients) client.abort();
    await Promise.all(left);
    await untilWaiting(app, 0);
    expect(gate.count).toBe(1);

    // The attempt fails, and so the key is free.
    failing = true;
    gate.open();
    expect((await first).status).toBe(500);
    expect(routes.executions).toBe(1);
    expect(responses).toHaveLength(clients.length);
    app.app.getHttpServer().off('request', watch);
  });

  it('leave no listener on their response', async () => {
    const { ask, first } = await begin('listeners');
    let response!: ServerResponse;
    app.app
      .getHttpServer()
      .once('request', (_request: unknown, arrived: ServerResponse) => (response = arrived));
    const duplicate = ask();
    await until(() => response, 'the duplicate to arrive');
    await untilWaiting(app, 1);
    const waiting = response.listenerCount('close');
    app.app.get(WaitingRequests).wakeAll();
    // It asks again and waits again: the listeners of the first wait are gone.
    await untilWaiting(app, 1);
    expect(response.listenerCount('close')).toBe(waiting);
    gate.open();
    await Promise.all([first, duplicate]);
  });
});
