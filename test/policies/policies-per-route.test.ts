import { Controller, Patch, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

@Controller('of-the-class')
@Idempotent({ retention: '2h', onServerError: 'store' })
class OfTheClass {
  @Post('inherits')
  inherits() {
    throw new Error('a bug');
  }

  @Patch('overrides')
  @Idempotent({ retention: '3h' })
  overrides() {
    throw new Error('a bug');
  }

  @Post('overrides-back')
  @Idempotent({ onServerError: 'retry', retention: undefined })
  overridesBack() {
    throw new Error('a bug');
  }
}

@Controller('of-the-module')
class OfTheModule {
  @Post('inherits')
  @Idempotent()
  inherits() {
    throw new Error('a bug');
  }

  @Post('overrides')
  @Idempotent({ onServerError: 'retry' })
  overrides() {
    throw new Error('a bug');
  }
}

forEachPlatform('Policies per route', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [OfTheClass, OfTheModule],
      idempotency: { retention: '1h', onServerError: 'unknown', keyspace: 'endpoint' },
      logger: false,
    });
  });
  afterAll(() => app.close());

  it.each([
    ['of-the-class/inherits', 'POST', 2, 'completed'],
    ['of-the-class/overrides', 'PATCH', 3, 'completed'],
    ['of-the-class/overrides-back', 'POST', 2, 'failed_retryable'],
    ['of-the-module/inherits', 'POST', 1, 'unknown'],
    ['of-the-module/overrides', 'POST', 1, 'failed_retryable'],
  ])(
    'are merged field by field: module, class, handler (%s)',
    async (path, method, hours, status) => {
      expect((await send(`${app.url}/${path}`, { key: path, method })).status).toBe(500);
      const row = await keyRow(app.database, path);
      expect(row.status).toBe(status);
      expect(row.endpoint).toBe(`${method} /${path}`);
      expect(row.expires_at - row.created_at).toBe(hours * 3_600_000);
    },
  );
});
