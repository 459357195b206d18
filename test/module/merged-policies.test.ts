import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

const HOUR = 3_600_000;

@Controller('plain')
class PlainController {
  @Post()
  @Idempotent()
  byModule() {
    return {};
  }

  @Post('own')
  @Idempotent({ retention: '4h' })
  byHandler() {
    return {};
  }
}

@Controller('classes')
@Idempotent({ retention: '2h', required: false, onMismatch: 'reject' })
class ClassController {
  @Post()
  byClass() {
    return {};
  }

  @Post('own')
  @Idempotent({ retention: '3h', onMismatch: undefined })
  byHandler() {
    return {};
  }

  @Post('demanding')
  @Idempotent({ required: true, onMismatch: 'replay' })
  demanding() {
    return {};
  }
}

forEachPlatform('Policies of module, class and handler', (platform) => {
  describe('are merged field by field', () => {
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        idempotency: { retention: '1h', onMismatch: 'replay' },
        controllers: [PlainController, ClassController],
      });
    });
    afterAll(() => app.close());

    async function observed(path: string) {
      const key = path.replaceAll('/', '-');
      await send(`${app.url}/${path}`, { key, body: { a: 1 } });
      const other = await send(`${app.url}/${path}`, { key, body: { a: 2 } });
      const row = await keyRow(app.database, key);
      return {
        retention: (row.expires_at.getTime() - row.created_at.getTime()) / HOUR,
        onMismatch: other.status === 201 ? 'replay' : 'reject',
        required: (await send(`${app.url}/${path}`)).status === 400,
      };
    }

    it.each([
      ['plain', { retention: 1, onMismatch: 'replay', required: true }],
      ['plain/own', { retention: 4, onMismatch: 'replay', required: true }],
      ['classes', { retention: 2, onMismatch: 'reject', required: false }],
      ['classes/own', { retention: 3, onMismatch: 'reject', required: false }],
      ['classes/demanding', { retention: 2, onMismatch: 'replay', required: true }],
    ])('POST /%s', async (path, expected) => {
      expect(await observed(path)).toEqual(expected);
    });
  });
});
