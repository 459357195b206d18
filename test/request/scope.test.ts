import {
  Controller,
  Injectable,
  Post,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent, type ScopeOption } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

interface AuthenticatedRequest {
  headers: Record<string, string | undefined>;
  user?: { id: string; token: string };
}

/** Tokens look like `token-of-ada-1`: the number changes with every refresh. */
@Injectable()
class BearerGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    request.user = { id: token.split('-')[2]!, token };
    return true;
  }
}

@Controller()
@UseGuards(BearerGuard)
class OrdersController {
  @Post('orders')
  @SetMetadata('tenant', 'shop')
  @Idempotent()
  create() {
    return { execution: ++executions };
  }
}

const scopes: [string, ScopeOption, string][] = [
  ['a function', (request: AuthenticatedRequest) => request.user?.id, 'ada'],
  ['an async function', async (request: AuthenticatedRequest) => request.user?.id, 'ada'],
  [
    'a function of the execution context',
    (_request, context) => {
      const { user } = context.switchToHttp().getRequest<AuthenticatedRequest>();
      return `${Reflect.getMetadata('tenant', context.getHandler())}/${user!.id}`;
    },
    'shop/ada',
  ],
];

forEachPlatform('Scopes', (platform) => {
  describe.each(scopes)('A scope from %s', (_, scope, stored) => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { scope },
        controllers: [OrdersController],
      });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    const order = (token: string, key: string) =>
      send(`${app.url}/orders`, { key, headers: { authorization: `Bearer ${token}` } });

    it('gives each caller separate keys', async () => {
      await order('token-of-ada-1', 'same');
      const other = await order('token-of-bob-1', 'same');
      expect(other.json()).toEqual({ execution: 2 });

      const [row] = await app.database.query(
        `SELECT scope FROM idempotency_keys WHERE key = 'same' ORDER BY id`,
      );
      expect(row).toEqual({ scope: stored });
    });

    it('stays the same when the caller has a refreshed token', async () => {
      const first = await order('token-of-ada-1', 'refreshed');
      const retry = await order('token-of-ada-2', 'refreshed');
      expect(retry.body).toEqual(first.body);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(executions).toBe(1);
    });
  });

  it("are one for all callers with scope: 'global'", async () => {
    executions = 0;
    const app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    for (const caller of ['ada', 'bob']) {
      const headers = { authorization: `Bearer token-of-${caller}-1` };
      const answer = await send(`${app.url}/orders`, { key: 'same', headers });
      expect(answer.json()).toEqual({ execution: 1 });
    }
    await app.close();
  });
});
