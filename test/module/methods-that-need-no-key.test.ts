import { All, Controller, Delete, Put } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;
const count = () => ({ execution: ++executions });

@Controller()
class OrdersController {
  @Put('optional')
  @Idempotent()
  replace() {
    return count();
  }

  @Delete('optional')
  @Idempotent()
  remove() {
    return count();
  }

  @Put('required')
  @Idempotent({ required: true })
  replaceWithKey() {
    return count();
  }

  @Delete('required')
  @Idempotent({ required: true })
  removeWithKey() {
    return count();
  }

  @All('any')
  @Idempotent()
  any() {
    return count();
  }
}

@Idempotent()
@Controller('class')
class ForAllMethods {
  @All('any')
  any() {
    return count();
  }
}

forEachPlatform('Methods that need no key', (platform) => {
  describe('@Idempotent() on a handler', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        // The module's default says nothing about methods that are idempotent anyway.
        idempotency: { required: true },
        controllers: [OrdersController, ForAllMethods],
      });
    });
    afterAll(() => app.close());
    beforeEach(() => {
      executions = 0;
    });

    describe.each(['PUT', 'DELETE'])('for %s', (method) => {
      it('lets a request without a key pass', async () => {
        await send(`${app.url}/optional`, { method });
        const second = await send(`${app.url}/optional`, { method });
        expect(second.json()).toEqual({ execution: 2 });
      });

      it('uses a key that is sent', async () => {
        await send(`${app.url}/optional`, { method, key: `${method}-honoured` });
        const retry = await send(`${app.url}/optional`, { method, key: `${method}-honoured` });
        expect(retry.json()).toEqual({ execution: 1 });
        expect(retry.headers.get('idempotent-replayed')).toBe('true');
      });

      it('refuses a key that cannot be read', async () => {
        const answer = await send(`${app.url}/optional`, { method, key: 'a, b' });
        expect(answer.status).toBe(400);
        expect(executions).toBe(0);
      });

      it('requires a key with required: true', async () => {
        const answer = await send(`${app.url}/required`, { method });
        expect(answer.status).toBe(400);
        expect(answer.json()).toMatchObject({ code: 'key_missing' });
        expect(executions).toBe(0);
      });
    });

    it.each(['GET', 'HEAD', 'OPTIONS'])('has no effect for %s', async (method) => {
      for (const path of ['any', 'class/any']) {
        await send(`${app.url}/${path}`, { method, key: 'read' });
        const second = await send(`${app.url}/${path}`, { method, key: 'read' });
        expect(second.status).toBe(200);
        expect(second.headers.get('idempotent-replayed')).toBeNull();
      }
      expect(executions).toBe(4);
      expect(await app.database.query(`SELECT 1 FROM idempotency_keys WHERE key = 'read'`)).toEqual(
        [],
      );
    });

    it.each([
      ['GET', 200],
      ['OPTIONS', 200],
      ['PUT', 200],
      ['DELETE', 200],
      ['POST', 400],
      ['PATCH', 400],
    ])(
      'follows the method of the request on a route for all methods: %s without a key gets %i',
      async (method, status) => {
        expect((await send(`${app.url}/any`, { method })).status).toBe(status);
        expect((await send(`${app.url}/class/any`, { method })).status).toBe(status);
      },
    );

    it.each(['any', 'class/any'])(
      'replays the answer of a route for all methods: %s',
      async (path) => {
        const first = await send(`${app.url}/${path}`, { key: path });
        const retry = await send(`${app.url}/${path}`, { key: path });
        expect(retry.body).toEqual(first.body);
        expect(retry.headers.get('idempotent-replayed')).toBe('true');
        expect(executions).toBe(1);
      },
    );
  });
});
