import { Controller, Post, Res } from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

@Controller()
class Handlers {
  @Post('header')
  header(@Res({ passthrough: true }) response: AnyResponse) {
    response.header('Content-Location', '/orders/№1');
    return { id: 1 };
  }

  @Post('status')
  status(@Res() response: AnyResponse) {
    const raw = rawOf(response);
    raw.statusCode = 99;
    raw.end('impossible');
  }

  @Post('circle')
  circle() {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    return circle;
  }

  @Post('chunk')
  chunk(@Res() response: AnyResponse) {
    rawOf(response).write(42);
  }
}

forEachPlatform('Answers that cannot be sent', (platform) => {
  describe('An answer that cannot be sent', () => {
    const recorder = new Recorder();
    let server: TestApp;
    beforeAll(async () => {
      const module = { controllers: [Handlers], providers: [recorder.interceptor()] };
      server = await platform.start(module, { logger: false });
    });

    it.each(['header', 'status', 'circle', 'chunk'])(
      'is replaced by an error, and the error is recorded (%s)',
      async (path) => {
        const first = await send(`${server.url}/${path}`, { key: path });
        const replay = await send(`${server.url}/${path}`, { key: path });
        expect(first.status).toBe(500);
        expect(recorder.observed.get(path)).toMatchObject([{ status: 500 }]);
        expect(replay.status).toBe(500);
        expect(replay.body).toEqual(first.body);
      },
    );
  });
});
