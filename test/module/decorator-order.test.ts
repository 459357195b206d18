import {
  Body,
  Controller,
  ForbiddenException,
  Header,
  HttpCode,
  Injectable,
  Post,
  Redirect,
  SetMetadata,
  UseGuards,
  UsePipes,
  ValidationPipe,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { IsString } from 'class-validator';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

class CreateOrder {
  @IsString()
  item!: string;
}

/** Lets a request in by what a decorator left on the handler, as role guards do. */
@Injectable()
class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const role = this.reflector.get<string>('role', context.getHandler());
    if (role !== 'seller') throw new ForbiddenException(`role ${role}`);
    return true;
  }
}

/** What documentation generators do: they write to the function behind the descriptor. */
function Documented(summary: string): MethodDecorator {
  return (_target, _property, descriptor: TypedPropertyDescriptor<any>) => {
    Reflect.defineMetadata('documented', summary, descriptor.value as object);
  };
}

@Controller()
class OrdersController {
  @Idempotent()
  @Documented('an order')
  @SetMetadata('role', 'seller')
  @UseGuards(RolesGuard)
  @UsePipes(new ValidationPipe())
  @HttpCode(202)
  @Header('X-Made-By', 'orders')
  @Post('above')
  above(@Body() order: CreateOrder) {
    return { execution: ++executions, item: order.item };
  }

  @Documented('an order')
  @SetMetadata('role', 'seller')
  @UseGuards(RolesGuard)
  @UsePipes(new ValidationPipe())
  @HttpCode(202)
  @Header('X-Made-By', 'orders')
  @Post('below')
  @Idempotent()
  below(@Body() order: CreateOrder) {
    return { execution: ++executions, item: order.item };
  }

  @SetMetadata('role', 'seller')
  @UsePipes(new ValidationPipe())
  @Header('X-Made-By', 'orders')
  @Idempotent()
  @Documented('an order')
  @UseGuards(RolesGuard)
  @HttpCode(202)
  @Post('between')
  between(@Body() order: CreateOrder) {
    return { execution: ++executions, item: order.item };
  }

  @Idempotent()
  @Redirect('/elsewhere', 303)
  @Post('redirected')
  redirected() {
    executions += 1;
  }
}

forEachPlatform('The order of decorators', (platform) => {
  describe('@Idempotent()', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    describe.each(['above', 'below', 'between'] as const)('%s the other decorators', (place) => {
      it('keeps the effect of all of them', async () => {
        const order = { key: place, body: { item: 'rocket' } };
        const first = await send(`${app.url}/${place}`, order);
        const retry = await send(`${app.url}/${place}`, order);

        expect(first.status).toBe(202);
        expect(first.headers.get('x-made-by')).toBe('orders');
        expect(first.json()).toEqual({ execution: 1, item: 'rocket' });
        expect(retry.status).toBe(202);
        expect(retry.body).toEqual(first.body);
        expect(executions).toBe(1);
      });

      it('keeps the types of the parameters for the pipes', async () => {
        const answer = await send(`${app.url}/${place}`, { key: 'bad', body: { item: 7 } });
        expect(answer.status).toBe(400);
        expect(answer.text).toContain('item must be a string');
        expect(executions).toBe(0);
      });

      it('keeps the name, the arity and the metadata of the handler', () => {
        const handler = OrdersController.prototype[place];
        expect(handler.name).toBe(place);
        expect(handler).toHaveLength(1);
        expect(Reflect.getMetadata('documented', handler)).toBe('an order');
      });
    });

    it('keeps the effect of a redirect', async () => {
      await send(`${app.url}/redirected`, { key: 'redirected' });
      const retry = await send(`${app.url}/redirected`, { key: 'redirected' });
      expect(retry.status).toBe(303);
      expect(retry.headers.get('location')).toBe('/elsewhere');
      expect(executions).toBe(1);
    });
  });
});
