import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  Catch,
  Controller,
  Post,
  Res,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

@Catch()
class StubbornFilter implements ExceptionFilter {
  catch(_error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<AnyResponse>();
    response.status(500).header('x-total', 'from the filter').send({ oh: 'no' });
  }
}

forEachPlatform('Early answers', (platform) => {
  describe('An answer that is sent before the handler has ended', () => {
    const gate = barrier();

    @Controller()
    class Handlers {
      @Post('more-work')
      async moreWork(@Res() response: AnyResponse) {
        response.status(201).send({ answered: true });
        await gate.pass();
      }

      @Post('throws')
      @UseFilters(StubbornFilter)
      async throws(@Res() response: AnyResponse) {
        response.status(201).header('x-total', 'from the handler').send({ answered: true });
        await Promise.resolve();
        throw new Error('too late');
      }

      @Post('changes-its-mind')
      changesItsMind(@Res() response: AnyResponse) {
        const raw = rawOf(response);
        raw.setHeader('x-total', '1');
        raw.write('first ');
        raw.statusCode = 418;
        raw.setHeader('x-total', '2');
        raw.setHeader('etag', '"late"');
        raw.end('last');
        raw.end('too late');
      }

      @Post('by-hand')
      byHand(@Res({ passthrough: true }) response: AnyResponse) {
        rawOf(response).write('by hand');
      }

      @Post('pipeline')
      async pipeline(@Res() response: AnyResponse) {
        response.hijack?.();
        await pipeline(Readable.from(['a', 'b', 'c']), rawOf(response));
      }

      @Post('callbacks')
      async callbacks(@Res() response: AnyResponse) {
        response.hijack?.();
        const raw = rawOf(response);
        const buffer = Buffer.from('a');
        await new Promise<void>((resolve) => raw.write(buffer, () => resolve()));
        buffer.write('!');
        await new Promise<void>((resolve) => raw.end('b', () => resolve()));
      }

      @Post('finish')
      async finish(@Res() response: AnyResponse) {
        response.send('sent');
        await new Promise(setImmediate);
        await once(rawOf(response), 'finish');
      }

      @Post('returns-the-reply')
      async returnsTheReply(@Res() response: AnyResponse) {
        await Promise.resolve();
        return response.send('sent');
      }
    }

    const recorder = new Recorder();
    let server: TestApp;
    const ask = (path: string) => send(`${server.url}/${path}`, { key: path });
    beforeAll(async () => {
      server = await platform.start(
        { controllers: [Handlers], providers: [recorder.interceptor()] },
        { logger: false },
      );
    });

    it('is neither recorded nor sent before the handler ends', async () => {
      let received = false;
      const answer = ask('more-work').finally(() => (received = true));
      await gate.arrived();
      await send(`${server.url}/finish`);
      expect(recorder.observed.has('more-work')).toBe(false);
      expect(received).toBe(false);

      gate.open();
      expect((await answer).json()).toEqual({ answered: true });
      expect(recorder.observed.get('more-work')).toHaveLength(1);
    });

    it.each(['first', 'replay'])('is not overwritten by a later error (%s)', async () => {
      const answer = await ask('throws');
      expect(answer.status).toBe(201);
      expect(answer.headers.get('x-total')).toBe('from the handler');
      expect(answer.json()).toEqual({ answered: true });
    });

    it.each(['first', 'replay'])('keeps the status and headers it was sent with (%s)', async () => {
      const answer = await ask('changes-its-mind');
      expect(answer.status).toBe(201);
      expect(answer.headers.get('x-total')).toBe('1');
      expect(answer.headers.get('etag')).toBe(null);
      expect(answer.text).toBe('first last');
    });

    it('is ended by Nest if it was only begun by hand', async () => {
      const plain = await send(`${server.url}/by-hand`);
      for (const answer of [await ask('by-hand'), await ask('by-hand')]) {
        expect([answer.status, answer.text]).toEqual([201, 'by hand']);
        expect(answer.text).toBe(plain.text);
      }
    });

    it.each([
      ['pipeline', 'abc'],
      ['callbacks', 'ab'],
      ['finish', 'sent'],
      ['returns-the-reply', 'sent'],
    ])('does not make a handler wait for itself (%s)', async (path, text) => {
      expect((await ask(path)).text).toBe(text);
      expect((await ask(path)).text).toBe(text);
      expect(recorder.observed.get(path)).toHaveLength(1);
    });
  });
});
