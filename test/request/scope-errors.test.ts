import {
  Catch,
  UnauthorizedException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { PolicyRoutes } from '../support/policy-routes.js';

@Catch(UnauthorizedException)
class UnauthorizedFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: UnauthorizedException, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<unknown>();
    this.host.httpAdapter.reply(response, { filtered: error.message }, 499);
  }
}

forEachPlatform('Errors of the scope function', (platform) => {
  it("go through the application's filters, and leave no key", async () => {
    const routes = new PolicyRoutes({ orders: {} });
    routes.answers((execution) => ({ execution }));
    const app = await startIdempotentApp(platform, {
      idempotency: {
        scope: async (request) => {
          const caller: string | undefined = request.headers['x-caller'];
          if (caller === undefined) throw new UnauthorizedException('who are you?');
          return caller;
        },
      },
      controllers: [routes.controller],
      configure: (nest) => {
        nest.useGlobalFilters(new UnauthorizedFilter(nest.get(HttpAdapterHost)));
      },
    });

    const refused = await send(`${app.url}/orders`, { key: 'k' });
    expect(refused.status).toBe(499);
    expect(refused.json()).toEqual({ filtered: 'who are you?' });
    expect(routes.executions).toBe(0);
    expect(await app.database.query('SELECT * FROM idempotency_keys')).toEqual([]);

    const accepted = await send(`${app.url}/orders`, { key: 'k', headers: { 'x-caller': 'ada' } });
    expect(accepted.json()).toEqual({ execution: 1 });
    await app.close();
  });
});
