import { ClassSerializerInterceptor, Controller, Post, UseInterceptors } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Exclude, Expose } from 'class-transformer';
import { IdempotencyInterceptor, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

class User {
  id = 7;

  @Exclude()
  password = 'secret';

  @Expose({ name: 'fullName' })
  name = 'Ann';
}

const SERIALIZED = '{"id":7,"fullName":"Ann"}';

@Controller()
class PlainController {
  @Post('plain')
  @Idempotent()
  create() {
    return new User();
  }
}

@Controller()
@UseInterceptors(ClassSerializerInterceptor)
class SerializingController {
  @Post('controller')
  @Idempotent()
  create() {
    return new User();
  }
}

@Controller()
class RouteController {
  @Post('outside')
  @Idempotent()
  @UseInterceptors(ClassSerializerInterceptor)
  outside() {
    return new User();
  }

  @Post('inside')
  @UseInterceptors(ClassSerializerInterceptor)
  @Idempotent()
  inside() {
    return new User();
  }
}

const serializer = { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor };
const idempotency = { provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor };

/** The first one is the outermost; interceptors of the application are outside of the route's. */
const APPLICATIONS = [
  { interceptors: 'none', providers: [], paths: ['controller', 'outside', 'inside'] },
  { interceptors: 'the serializer', providers: [serializer], paths: ['plain'] },
  {
    interceptors: 'the serializer and ours',
    providers: [serializer, idempotency],
    paths: ['plain'],
  },
  {
    interceptors: 'ours and the serializer',
    providers: [idempotency, serializer],
    paths: ['plain'],
  },
];

forEachPlatform('Excluded fields', (platform) => {
  describe.each(APPLICATIONS)(
    'with $interceptors for the whole application',
    ({ providers, paths }) => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [PlainController, SerializingController, RouteController],
          providers,
        });
      });
      afterAll(() => app.close());

      it.each(paths)('are neither sent nor stored nor replayed (%s)', async (path) => {
        for (const replayed of [null, 'true']) {
          const answer = await send(`${app.url}/${path}`, { key: path });
          expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
          expect(answer.text).toBe(SERIALIZED);
        }
        const row = await keyRow(app.database, path);
        expect(row.response_body.toString()).toBe(SERIALIZED);
      });
    },
  );
});
