import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import Stripe from 'stripe';
import type { Barrier } from '../support/barrier.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { passTime } from '../support/time.js';
import { gatedOrders } from './gated-orders.js';
import { watchTraffic, type Traffic } from './traffic.js';

/** Every handler that is held at the gate takes longer than this. */
const TIMEOUT = 3_000;

forEachPlatform('The client stripe-node', (platform) => {
  const { controller, workshop, startAnew } = gatedOrders();
  let app: IdempotentApp;
  let traffic: Traffic;
  let gate: Barrier;
  let stripe: Stripe;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [controller],
      idempotency: { dialect: 'stripe' },
      configure: (nest) => void (traffic = watchTraffic(nest)),
    });
    const { hostname, port } = new URL(app.url);
    // With its own number of retries and its own keys, as most callers use it.
    stripe = new Stripe('sk_test_local', {
      host: hostname,
      port,
      protocol: 'http',
      timeout: TIMEOUT,
      telemetry: false,
    });
  });
  beforeEach(() => {
    gate = startAnew();
    traffic.forget();
  });
  // A handler that still waits would hold up the shutdown.
  afterEach(() => gate.open());
  afterAll(() => app.close());

  function order(route: string, item: string, options: Stripe.RawRequestOptions = {}) {
    return stripe.rawRequest('POST', `/v1/${route}`, { item }, options);
  }

  /** What the promise is rejected with; a success would be the mistake. */
  async function errorOf(promise: Promise<unknown>): Promise<unknown> {
    const success = await promise.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    expect(success).not.toHaveProperty('value');
    return (success as { error: unknown }).error;
  }

  it.each([
    { route: 'waiting-orders', when: 'may wait', retries: [201] },
    { route: 'rejecting-orders', when: 'is rejected', retries: [409, 201] },
  ])('gets the answer of its first request when its retry $when', async ({ route, retries }) => {
    const promise = order(route, 'rocket');
    // A rejected retry is to be really rejected; a waiting one has no answer before the gate opens.
    await (retries[0] === 409 ? traffic.answered(2) : traffic.arrived(2));
    gate.open();

    const answer = await promise;
    expect(answer).toEqual({ order: 1, item: 'rocket' });
    expect(answer.lastResponse.headers['idempotent-replayed']).toBe('true');
    expect(workshop.executions).toBe(1);
    expect(traffic.outcomes).toEqual(['lost', ...retries]);
    expect(traffic.keys[0]).toMatch(/./);
    expect(new Set(traffic.keys).size).toBe(1);
  });

  it('fails if the key was used for another request, and does not try again', async () => {
    gate.open();
    const idempotencyKey = 'used-before';
    await order('waiting-orders', 'rocket', { idempotencyKey });
    const error = await errorOf(order('waiting-orders', 'balloon', { idempotencyKey }));

    expect(error).toBeInstanceOf(Stripe.errors.StripeIdempotencyError);
    expect(error).toMatchObject({
      statusCode: 400,
      rawType: 'idempotency_error',
      code: 'key_reused',
    });
    expect(traffic.outcomes).toEqual([201, 400]);
    expect(workshop.executions).toBe(1);
  });

  it.each([500, 503, 409])(
    'does not try again when a final answer has status %d, nor when it is replayed',
    async (status) => {
      gate.open();
      const options = { idempotencyKey: `fails-${status}` };
      for (const replayed of [undefined, 'true']) {
        const error = await errorOf(order('waiting-orders', `fails ${status}`, options));
        expect(error).toMatchObject({ statusCode: status, message: `fails ${status}` });
        const { headers } = error as { headers: Record<string, string> };
        expect(headers['idempotent-replayed']).toBe(replayed);
      }
      expect(traffic.outcomes).toEqual([status, status]);
      expect(workshop.executions).toBe(1);
    },
  );

  it('fails if the first request still runs after all its retries', async () => {
    const idempotencyKey = 'in-use';
    const error = await errorOf(order('rejecting-orders', 'rocket', { idempotencyKey }));
    expect(error).toMatchObject({
      statusCode: 409,
      rawType: 'idempotency_error',
      code: 'idempotency_key_in_use',
    });
    expect(traffic.outcomes).toEqual(['lost', 409, 409]);
    expect(workshop.executions).toBe(1);
  });

  it('fails if the outcome of the first request is unknown', async () => {
    const idempotencyKey = 'in-doubt';
    const promise = order('rejecting-orders', 'rocket', { idempotencyKey });
    await gate.arrived();
    await passTime(app.database, idempotencyKey, '31 seconds');

    expect(await errorOf(promise)).toMatchObject({
      statusCode: 409,
      rawType: 'idempotency_error',
      code: 'outcome_unknown',
    });
    expect(traffic.outcomes).toEqual(['lost', 409, 409]);
    expect(workshop.executions).toBe(1);
  });
});
