import { Readable } from 'node:stream';
import { Controller, Header, Post, Res, StreamableFile } from '@nestjs/common';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

/** Gives these before it fails. */
async function* failing(...chunks: string[]) {
  yield* chunks;
  await new Promise(setImmediate);
  throw new Error('the disk is gone');
}

@Controller()
class Handlers {
  @Post('file/at-once')
  @Header('Content-Type', 'text/csv')
  fileAtOnce() {
    return new StreamableFile(Readable.from(failing()));
  }

  @Post('generator/at-once')
  generatorAtOnce() {
    return failing();
  }

  @Post('file/midway')
  fileMidway() {
    return new StreamableFile(Readable.from(failing('some', 'more')));
  }

  @Post('generator/midway')
  generatorMidway() {
    return failing('some', 'more');
  }

  @Post('raw/midway')
  rawMidway(@Res() response: AnyResponse) {
    response.hijack?.();
    const raw = rawOf(response);
    const stream = Readable.from(failing('some', 'more'));
    stream.on('error', () => raw.destroy()).pipe(raw);
  }
}

forEachPlatform('Failing streams', (platform) => {
  const recorder = new Recorder();
  let server: TestApp;
  beforeAll(async () => {
    const module = { controllers: [Handlers], providers: [recorder.interceptor()] };
    server = await platform.start(module, { logger: false });
  });
  const ask = (path: string, key?: string) => send(`${server.url}/${path}`, { key });

  describe('A stream that fails before its first byte', () => {
    it.each(['file/at-once', 'generator/at-once'])('is answered by Nest (%s)', async (path) => {
      const withoutUs = await ask(path);
      const first = await ask(path, path);
      const replay = await ask(path, path);

      expect(first.status).toBeGreaterThanOrEqual(400);
      expect(first.headers.get('x-recorded')).toBe('yes');
      expect(recorder.observed.get(path)).toHaveLength(1);
      for (const answer of [first, replay]) {
        expect(answer.status).toBe(withoutUs.status);
        expect(answer.text).toBe(withoutUs.text);
        expect(answer.headers.get('content-type')).toBe(withoutUs.headers.get('content-type'));
      }
    });
  });

  describe('A stream that fails midway', () => {
    it.each(['file/midway', 'generator/midway', 'raw/midway'])(
      'is cut off, and observed without its body (%s)',
      async (path) => {
        await expect(ask(path, path)).rejects.toThrow(/hang up|aborted|ECONNRESET/);
        const observed = await recorder.recorded(path);
        expect(observed).toMatchObject({ status: 201, body: undefined });
        expect(recorder.observed.get(path)).toHaveLength(1);
      },
    );
  });
});
