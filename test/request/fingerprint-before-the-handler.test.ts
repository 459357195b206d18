import {
  Body,
  Controller,
  Injectable,
  Post,
  Query,
  Req,
  ServiceUnavailableException,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import type { Observable } from 'rxjs';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

interface Order {
  item?: string;
  stamp?: number;
}

/** Changes the body in place, differently each time, as careless pipes do. */
@Injectable()
class StampPipe implements PipeTransform {
  transform(order: Order): Order {
    return Object.assign(order, { stamp: Math.random() });
  }
}

@Injectable()
class StampInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    Object.assign(context.switchToHttp().getRequest<{ body: Order }>().body, {
      stamp: Math.random(),
    });
    return next.handle();
  }
}

@Controller()
class OrdersController {
  @Post('pipe')
  @Idempotent()
  throughPipe(@Body(StampPipe) order: Order) {
    return { execution: ++executions, item: order.item };
  }

  // In the order of execution, Idempotent is first: Nest appends from below.
  @Post('interceptor')
  @UseInterceptors(StampInterceptor)
  @Idempotent()
  throughInterceptor(@Body() order: Order) {
    return { execution: ++executions, item: order.item };
  }

  @Post('handler')
  @Idempotent()
  inHandler(@Body() order: Order, @Query() query: Record<string, string>) {
    delete order.item;
    order.stamp = Math.random();
    query.added = 'yes';
    return { execution: ++executions };
  }

  @Post('failing')
  @Idempotent()
  failing(@Req() request: { body: unknown }) {
    request.body = { replaced: true };
    if (++executions === 1) throw new ServiceUnavailableException();
    return { execution: executions };
  }
}

forEachPlatform('The time of the fingerprint', (platform) => {
  describe('is before any change of the body by', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    it.each(['pipe', 'interceptor', 'handler'])('a %s', async (place) => {
      const order = { key: place, body: { item: 'rocket' } };
      await send(`${app.url}/${place}`, order);
      const retry = await send(`${app.url}/${place}`, order);

      expect(retry.status).toBe(201);
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(executions).toBe(1);

      const other = await send(`${app.url}/${place}`, { key: place, body: { item: 'star' } });
      expect(other.status).toBe(422);
    });

    it('a handler that replaces it and fails, so that the retry runs', async () => {
      const order = { key: 'failing', body: { item: 'rocket' } };
      expect((await send(`${app.url}/failing`, order)).status).toBe(503);
      const retry = await send(`${app.url}/failing`, order);
      expect(retry.json()).toEqual({ execution: 2 });
    });
  });
});
