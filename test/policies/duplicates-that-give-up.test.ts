import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';
import { writtenRow } from '../support/written-row.js';

const routes = new PolicyRoutes({
  impatient: { onInProgress: 'wait', waitFor: 20 },
  patient: { onInProgress: 'wait', waitFor: '55s' },
});

forEachPlatform((platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [routes.controller] });
  });
  afterAll(() => app.close());

  let gate: Barrier;
  beforeEach(() => {
    gate = barrier();
    routes.answers(async (execution) => {
      await gate.pass();
      return { execution };
    });
  });

  async function begin(path: string) {
    const ask = (signal?: AbortSignal) => send(`${app.url}/${path}`, { key: path, signal });
    const first = ask();
    await gate.arrived();
    return { ask, first, before: await writtenRow(app.database, path) };
  }

  it('A duplicate that has waited long enough leaves the running attempt alone', async () => {
    const { ask, first, before } = await begin('impatient');
    const duplicate = await ask();
    expect([duplicate.status, duplicate.json().code]).toEqual([409, 'in_progress']);
    expect(await writtenRow(app.database, 'impatient')).toEqual(before);

    gate.open();
    expect((await first).json()).toEqual({ execution: 1 });
    expect((await ask()).json()).toEqual({ execution: 1 });
    expect(routes.executions).toBe(1);
  });

  it('A duplicate whose client leaves while it waits leaves the running attempt alone', async () => {
    const { ask, first, before } = await begin('patient');
    const client = new AbortController();
    const duplicate = ask(client.signal);
    const failure = expect(duplicate).rejects.toThrow('aborted');
    // A second one that stays shows that both have come as far as waiting.
    const staying = ask();
    client.abort();
    await failure;
    expect(await writtenRow(app.database, 'patient')).toEqual(before);

    gate.open();
    for (const answer of await Promise.all([first, staying])) {
      expect(answer.json()).toEqual({ execution: 1 });
    }
    expect(routes.executions).toBe(1);
  });
});
