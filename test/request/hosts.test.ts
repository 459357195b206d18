import { Controller, HostParam, Post, Req, type Type } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Received } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let executions = 0;

@Controller({ host: ':tenant.example.com' })
class TenantOrders {
  @Post('orders')
  @Idempotent()
  create(@HostParam('tenant') tenant: string) {
    return { tenant, execution: ++executions };
  }

  @Post('own-keys')
  @Idempotent({ keyspace: 'endpoint' })
  createUnderOwnKey(@HostParam('tenant') tenant: string) {
    return { tenant, execution: ++executions };
  }

  @Post('chosen')
  @Idempotent({ fingerprint: () => 'always' })
  createAlike(@HostParam('tenant') tenant: string) {
    return { tenant, execution: ++executions };
  }
}

@Controller({ path: 'shops', host: [/^north\.shop$/, 'south.shop'] })
class Shops {
  @Post()
  @Idempotent()
  create(@Req() { hostname }: { hostname: string }) {
    return { tenant: hostname, execution: ++executions };
  }
}

@Controller('anywhere')
class Anywhere {
  @Post()
  @Idempotent({ keyspace: 'endpoint' })
  create() {
    return { execution: ++executions };
  }
}

/** Two controllers on one path, which only Express can tell apart by their hosts. */
function twins(): Type[] {
  return ['left.example.org', 'right.example.org'].map((host) => {
    @Controller({ path: 'twins', host })
    class Twin {
      @Post()
      @Idempotent()
      create() {
        return { tenant: host, execution: ++executions };
      }
    }
    return Twin;
  });
}

forEachPlatform('Hosts', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [TenantOrders, Shops, Anywhere, ...(platform.name === 'express' ? twins() : [])],
      // Bursts of retries are answered from memory, which has to tell hosts apart as well.
      idempotency: { replayCache: {} },
    });
  });
  beforeEach(() => void (executions = 0));
  afterAll(() => app.close());

  function ask(host: string, path: string, key: string): Promise<Received> {
    return send(`${app.url}/${path}`, { key, headers: { host }, body: { item: 'rocket' } });
  }

  const PAIRS = [
    ['a.example.com', 'b.example.com', 'orders'],
    ['a.example.com', 'b.example.com', 'chosen'],
    ['north.shop', 'south.shop', 'shops'],
    ...(platform.name === 'express' ? [['left.example.org', 'right.example.org', 'twins']] : []),
  ] as [string, string, string][];

  describe('A key that was used on another host', () => {
    it.each(PAIRS)('is refused: %s, %s, %s', async (first, second, path) => {
      const key = `${path}-refused`;
      expect((await ask(first, path, key)).json()).toMatchObject({ execution: 1 });
      // Twice, so that the second is answered from memory.
      for (let i = 0; i < 2; i++) {
        const refused = await ask(second, path, key);
        expect(refused.status).toBe(422);
        expect(refused.json()).toMatchObject({ code: 'key_reused' });
        const replay = await ask(first, path, key);
        expect(replay.headers.get('idempotent-replayed')).toBe('true');
      }
      expect(executions).toBe(1);
    });

    it('is another key if keys are per endpoint', async () => {
      const a = await ask('a.example.com', 'own-keys', 'k');
      const b = await ask('b.example.com', 'own-keys', 'k');
      expect(a.json()).toEqual({ tenant: 'a', execution: 1 });
      expect(b.json()).toEqual({ tenant: 'b', execution: 2 });
    });
  });

  it('are compared without port and case', async () => {
    await ask('a.example.com', 'orders', 'case');
    const replay = await ask('A.Example.com:8080', 'orders', 'case');
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
  });

  it('that are longer than any valid host are accepted by the store', async () => {
    const host = `${'x'.repeat(5_000)}.example.com`;
    const answer = await ask(host, 'own-keys', 'long');
    expect(answer.status).toBe(201);
    expect((await ask(host, 'own-keys', 'long')).headers.get('idempotent-replayed')).toBe('true');
  });

  it('are not compared if the controller is for every host', async () => {
    await ask('a.example.com', 'anywhere', 'any');
    const replay = await ask('b.example.com', 'anywhere', 'any');
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    expect((await keyRow(app.database, 'any')).endpoint).toBe('POST /anywhere');
  });
});
