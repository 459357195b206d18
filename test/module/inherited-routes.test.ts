import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { createTestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

let executions = 0;

abstract class Resource {
  @Post(':kind')
  @HttpCode(202)
  create(@Param('kind') kind: string, @Body() body: unknown) {
    return { execution: ++executions, kind, body };
  }
}

@Idempotent()
@Controller('orders')
class Orders extends Resource {}

@Idempotent()
@Controller('refunds')
class Refunds extends Resource {
  @Post()
  another() {
    return { execution: ++executions };
  }
}

@Controller('notes')
class Notes extends Resource {}

@Idempotent()
abstract class IdempotentResource extends Resource {}

@Controller('rides')
class Rides extends IdempotentResource {}

forEachPlatform('Inherited routes', (platform) => {
  describe('Routes of a parent class', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, { controllers: [Orders, Refunds, Notes, Rides] });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    it.each([
      ['of a child with the decorator', 'orders'],
      ['of a child of a parent with the decorator', 'rides'],
    ])('are covered as routes %s', async (_, path) => {
      const order = { key: path, body: { item: 'rocket' } };
      const first = await send(`${app.url}/${path}/express`, order);
      const retry = await send(`${app.url}/${path}/express`, order);

      expect(first.status).toBe(202);
      expect(first.json()).toEqual({ execution: 1, kind: 'express', body: { item: 'rocket' } });
      expect(retry.body).toEqual(first.body);
      expect((await send(`${app.url}/${path}/express`)).status).toBe(400);
      expect(executions).toBe(1);
    });

    it('are covered together with the routes of the child', async () => {
      await send(`${app.url}/refunds`, { key: 'another' });
      const retry = await send(`${app.url}/refunds`, { key: 'another' });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(executions).toBe(1);
    });

    it('are not affected in a child without the decorator', async () => {
      expect((await send(`${app.url}/notes/express`)).status).toBe(202);
      await send(`${app.url}/notes/express`, { key: 'note' });
      const again = await send(`${app.url}/notes/express`, { key: 'note' });
      expect(again.json()).toMatchObject({ execution: 3, kind: 'express' });
    });
  });
});

describe('A route that a child adds below a decorated parent', () => {
  it('stops the boot, because it would not be covered', async () => {
    @Controller('trips')
    class Trips extends IdempotentResource {
      @Post()
      book() {
        return {};
      }
    }

    const database = await createTestDatabase();
    const { message } = await bootFailure({ database, controllers: [Trips] });
    expect(message).toContain('Trips.book');
    expect(message).toContain('Put @Idempotent() on Trips');
    await database.drop();
  });
});
