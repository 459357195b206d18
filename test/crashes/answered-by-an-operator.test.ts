import { Controller, Post } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Idempotent, IdempotencyOperator } from 'nestjs-atomic-idempotency';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';

@Controller('orders')
class OrdersController {
  @Post()
  @Idempotent()
  create() {
    return { order: 1 };
  }
}

forEachPlatform('The answer of an operator', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController], logger: false });
  });
  afterAll(() => app.close());

  let stopObserving: () => void;
  afterEach(() => stopObserving());

  it('is kept, whatever is recorded later by an attempt that was considered dead', async () => {
    const key = 'resolved';
    const order = () => send(`${app.url}/orders`, { key });
    const gate = barrier();
    stopObserving = observeFaultPoints(({ name, attempt }) =>
      name === 'recording:before' && attempt === 1 ? gate.pass() : undefined,
    );
    const first = order();
    await gate.arrived();
    await lapse(app.database, key);
    expect((await order()).json().code).toBe('outcome_unknown');
    const { id } = await keyRow(app.database, key);
    const resolved = await app.app
      .get(IdempotencyOperator)
      .resolveKey(
        id,
        { outcome: 'completed', answer: { status: 410, body: { order: 'cancelled' } } },
        { who: 'tests' },
      );
    expect(resolved).toMatchObject({ changed: true });

    gate.open();
    expectRetryable(await first, 409, 'lease_lost');
    const retry = await order();
    expect([retry.status, retry.json()]).toEqual([410, { order: 'cancelled' }]);
  });
});
