import type { IncomingMessage, ServerResponse } from 'node:http';
import { Controller, HttpCode, Post } from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { Recorder } from './recorder.js';

@Controller()
class Handlers {
  @Post('object')
  object() {
    return { id: 1 };
  }

  @Post('empty')
  @HttpCode(200)
  empty(): void {}

  @Post('no-content')
  @HttpCode(204)
  noContent(): void {}
}

let visits = 0;

/** Does what express-session does: saves before the end, and sets its cookie with the head. */
function session(_request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const { end, writeHead } = response;
  const patched = {
    end: (...args: unknown[]) => {
      setImmediate(() => Reflect.apply(end, response, args));
      return response;
    },
    writeHead: (...args: unknown[]) => {
      visits += 1;
      response.setHeader('Set-Cookie', `visit=${visits}`);
      return Reflect.apply(writeHead, response, args) as unknown;
    },
  };
  Object.assign(response, patched);
  next();
}

forEachPlatform('Deferring middleware', (platform) => {
  describe('Middleware that ends a response later', () => {
    const recorder = new Recorder();
    const replacing = new Recorder({
      decide: () => ({
        kind: 'replace',
        answer: { status: 503, headers: { 'content-type': 'text/plain' }, body: Buffer.from('no') },
      }),
    });
    let server: TestApp;
    let refusing: TestApp;
    beforeAll(async () => {
      const start = (by: Recorder) =>
        platform.start(
          { controllers: [Handlers], providers: [by.interceptor()] },
          { configure: (app) => void app.use(session) },
        );
      [server, refusing] = await Promise.all([start(recorder), start(replacing)]);
    });

    it.each(['object', 'empty', 'no-content'])('ends every answer: %s', async (path) => {
      const first = await send(`${server.url}/${path}`, { key: path });
      const firstVisit = visits;
      const replay = await send(`${server.url}/${path}`, { key: path });
      expect(first.headers.getSetCookie()).toEqual([`visit=${firstVisit}`]);
      expect(replay.headers.getSetCookie()).toEqual([`visit=${firstVisit + 1}`]);
      expect(replay.status).toBe(first.status);
      expect(replay.body).toEqual(first.body);
      expect(recorder.observed.get(path)![0]!.headers).not.toHaveProperty('set-cookie');
    });

    it.each(['object', 'empty', 'no-content'])('ends a replaced answer: %s', async (path) => {
      const answer = await send(`${refusing.url}/${path}`, { key: path });
      expect(answer.status).toBe(503);
      expect(answer.text).toBe('no');
      expect(answer.headers.getSetCookie()).toEqual([`visit=${visits}`]);
    });
  });
});
