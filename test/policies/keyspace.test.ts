import { Controller, Param, Patch, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller()
class RidesController {
  @Post('rides')
  @Idempotent()
  ride() {
    return { made: 'ride' };
  }

  @Post('tips')
  @Idempotent({ keyspace: 'scope' })
  tip() {
    return { made: 'tip' };
  }

  @Post('orders/:id/notes')
  @Idempotent({ keyspace: 'endpoint' })
  note(@Param('id') id: string) {
    return { note: id };
  }

  @Patch('orders/:id/notes')
  @Idempotent({ keyspace: 'endpoint' })
  change(@Param('id') id: string) {
    return { changed: id };
  }
}

forEachPlatform('The keyspace', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [RidesController] });
  });
  afterAll(() => app.close());

  it('is the scope by default: a key is used once, whatever the route', async () => {
    expect((await send(`${app.url}/rides`, { key: 'one' })).status).toBe(201);
    const elsewhere = await send(`${app.url}/tips`, { key: 'one' });
    expect(elsewhere.status).toBe(422);
    expect(elsewhere.json().code).toBe('key_reused');
  });

  it("'endpoint' allows a key once per method and route", async () => {
    const notes = `${app.url}/orders/7/notes`;
    expect((await send(`${app.url}/rides`, { key: 'two' })).json()).toEqual({ made: 'ride' });
    for (const replayed of [null, 'true']) {
      const posted = await send(notes, { key: 'two' });
      const patched = await send(notes, { key: 'two', method: 'PATCH' });
      expect([posted.json(), patched.json()]).toEqual([{ note: '7' }, { changed: '7' }]);
      for (const answer of [posted, patched]) {
        expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
      }
    }
  });

  it("'endpoint' counts a route as one endpoint, whatever its params", async () => {
    expect((await send(`${app.url}/orders/1/notes`, { key: 'three' })).status).toBe(201);
    expect((await send(`${app.url}/orders/2/notes`, { key: 'three' })).status).toBe(422);
  });
});
