import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Next, Post, Res } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Express } from 'express';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { createAdapter } from '../support/listen.js';
import { forEachPlatform } from '../support/platforms.js';

let runs = 0;
let own: string[] = [];

@Idempotent()
@Controller('orders')
class Orders {
  @Post()
  create(@Res({ passthrough: true }) response: ServerResponse) {
    runs += 1;
    own = Object.keys(response);
    return { order: runs };
  }

  /** Leaves the answer to the application around this one. */
  @Post('left')
  leave(@Res() _response: ServerResponse, @Next() next: (where: string) => void) {
    runs += 1;
    next('router');
  }
}

/** The methods that a response has of its own while it is held. */
const held = () => own.filter((name) => ['writeHead', 'write', 'end'].includes(name));

forEachPlatform(
  'Prototypes of Express',
  (platform) => {
    const closing: (() => unknown)[] = [];
    let url: string;
    let parent: string;

    beforeAll(async () => {
      const controllers = [Orders];
      ({ url } = await startIdempotentApp(platform, { controllers }));

      const mounted = await startIdempotentApp(platform, { controllers });
      const outer = (await createAdapter('express')).getInstance<Express>();
      outer.use('/shop', mounted.app.getHttpAdapter().getInstance());
      outer.use((_request, response) => void response.status(404).json({ nobody: runs }));
      const server = createServer(outer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      closing.push(() => server.close());
      parent = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop`;
    });
    afterAll(() => closing.forEach((close) => close()));

    describe('The responses of an application', () => {
      it('get no properties, which would slow down every access to them', async () => {
        await send(`${url}/orders`, { key: 'own' });
        expect(held()).toEqual([]);
      });

      it('are kept if another application has mounted it', async () => {
        const first = await send(`${parent}/orders`, { key: 'mounted' });
        expect(held()).toEqual(['writeHead', 'write', 'end']);
        const retry = await send(`${parent}/orders`, { key: 'mounted' });
        expect(retry.text).toBe(first.text);
        expect(retry.status).toBe(201);
      });

      it('are kept even if the other application gives the answer', async () => {
        const first = await send(`${parent}/orders/left`, { key: 'left' });
        expect(first.status).toBe(404);
        expect(first.json()).toEqual({ nobody: runs });
        const before = runs;
        const retry = await send(`${parent}/orders/left`, { key: 'left' });
        expect(retry.text).toBe(first.text);
        expect(runs).toBe(before);
      });
    });
  },
  ['express'],
);
