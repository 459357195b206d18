import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import ModernTreasury from 'modern-treasury';
import type { Barrier } from '../support/barrier.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { gatedOrders } from './gated-orders.js';
import { watchTraffic, type Traffic } from './traffic.js';

/** Every handler that is held at the gate takes longer than this. */
const TIMEOUT = 3_000;

forEachPlatform('The client of Modern Treasury', (platform) => {
  const { controller, workshop, startAnew } = gatedOrders();
  let app: IdempotentApp;
  let traffic: Traffic;
  let gate: Barrier;
  let client: ModernTreasury;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [controller],
      configure: (nest) => void (traffic = watchTraffic(nest)),
    });
    // With its own number of retries and its own keys, as most callers use it.
    client = new ModernTreasury({
      baseURL: app.url,
      apiKey: 'local',
      organizationID: 'local',
      timeout: TIMEOUT,
    });
  });
  beforeEach(() => {
    gate = startAnew();
    traffic.forget();
  });
  // A handler that still waits would hold up the shutdown.
  afterEach(() => gate.open());
  afterAll(() => app.close());

  function order(route: string, item: string, options: object = {}) {
    return client.post(`/v1/${route}`, { body: { item }, ...options });
  }

  it.each([
    { route: 'waiting-orders', when: 'may wait', retries: [201] },
    // It comes back when Retry-After says so.
    { route: 'rejecting-orders', when: 'is rejected', retries: [409, 201] },
  ])('gets the answer of its first request when its retry $when', async ({ route, retries }) => {
    const promise = order(route, 'rocket').withResponse();
    // A rejected retry is to be really rejected; a waiting one has no answer before the gate opens.
    await (retries[0] === 409 ? traffic.answered(2) : traffic.arrived(2));
    gate.open();

    const { data, response } = await promise;
    expect(data).toEqual({ order: 1, item: 'rocket' });
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(workshop.executions).toBe(1);
    expect(traffic.outcomes).toEqual(['lost', ...retries]);
    expect(traffic.keys[0]).toMatch(/./);
    expect(new Set(traffic.keys).size).toBe(1);
  });

  it('fails if the key was used for another request, and does not try again', async () => {
    gate.open();
    const idempotencyKey = 'used-before';
    await order('waiting-orders', 'rocket', { idempotencyKey });
    const misuse = order('waiting-orders', 'balloon', { idempotencyKey });

    await expect(misuse).rejects.toThrow(ModernTreasury.UnprocessableEntityError);
    await expect(misuse).rejects.toMatchObject({
      status: 422,
      error: { code: 'key_reused', retryable: false },
    });
    expect(traffic.outcomes).toEqual([201, 422]);
    expect(workshop.executions).toBe(1);
  });

  it('fails if the outcome of the first request is unknown', async () => {
    // Without retries: it would obey Retry-After and come back half a minute later.
    const options = { idempotencyKey: 'in-doubt', maxRetries: 0 };
    const first = order('rejecting-orders', 'rocket', options);
    await expect(first).rejects.toThrow(ModernTreasury.APIConnectionError);
    await gate.arrived();
    await passTime(app.database, options.idempotencyKey, '31 seconds');

    const retry = order('rejecting-orders', 'rocket', options);
    await expect(retry).rejects.toMatchObject({
      status: 409,
      error: { code: 'outcome_unknown', retryable: true },
    });
    expect(workshop.executions).toBe(1);
  });
});
