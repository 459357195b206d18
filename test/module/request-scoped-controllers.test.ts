import { Controller, Inject, Injectable, Post, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;
let instances = 0;

@Injectable({ scope: Scope.REQUEST })
class Caller {
  constructor(@Inject(REQUEST) private readonly request: { headers: Record<string, string> }) {}

  get name(): string | undefined {
    return this.request.headers['x-caller'];
  }
}

@Controller({ path: 'orders', scope: Scope.REQUEST })
class OrdersController {
  constructor(
    private readonly caller: Caller,
    private readonly phases: AtomicPhase,
  ) {
    instances += 1;
  }

  @Post()
  @Idempotent()
  create() {
    return this.phases.local('ordered', async () => ({
      execution: ++executions,
      caller: this.caller.name,
    }));
  }
}

forEachPlatform('Request-scoped classes', (platform) => {
  describe('A request-scoped controller', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      executions = instances = 0;
      app = await startIdempotentApp(platform, {
        controllers: [OrdersController],
        providers: [Caller],
      });
    });
    afterAll(() => app.close());

    it('has idempotent routes like any other', async () => {
      const order = (caller: string, key: string) =>
        send(`${app.url}/orders`, { key, headers: { 'x-caller': caller } });
      const first = await order('ada', 'a');
      const other = await order('bob', 'b');
      const retry = await order('ada', 'a');

      expect(first.json()).toEqual({ execution: 1, caller: 'ada' });
      expect(other.json()).toEqual({ execution: 2, caller: 'bob' });
      expect(retry.body).toEqual(first.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(instances).toBe(3);
    });
  });
});
