import { Controller, Post, Req, RequestMethod, VersioningType } from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { Recorder } from './recorder.js';

forEachPlatform('Route patterns', (platform) => {
  describe('The pattern of a route', () => {
    const recorder = new Recorder();

    @Controller('rides')
    class Rides {
      @Post(':id/tips')
      tips(@Req() request: unknown) {
        return { pattern: recorder.platform.routePattern(request) };
      }

      @Post()
      create(@Req() request: unknown) {
        return { pattern: recorder.platform.routePattern(request) };
      }
    }

    @Controller({ path: 'rides', version: '2' })
    class RidesOfVersionTwo extends Rides {}

    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        { controllers: [Rides, RidesOfVersionTwo], providers: [recorder.interceptor()] },
        {
          configure: (app) => {
            const exclude = [{ path: 'rides', method: RequestMethod.POST }];
            app.setGlobalPrefix('api', { exclude });
            app.enableVersioning({ type: VersioningType.URI });
          },
        },
      );
    });

    it.each([
      ['/api/rides/17/tips?amount=3', '/api/rides/:id/tips'],
      ['/api/v2/rides/17/tips', '/api/v2/rides/:id/tips'],
      ['/rides', '/rides'],
    ])('of %s is %s', async (path, pattern) => {
      expect((await send(`${server.url}${path}`)).json()).toEqual({ pattern });
    });
  });
});
