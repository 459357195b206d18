import { createHash, randomBytes } from 'node:crypto';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import {
  Controller,
  Param,
  Post,
  Res,
  StreamableFile,
  type INestApplication,
} from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { beforeAll, describe, expect, it } from '@jest/globals';
import compression from 'compression';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { until } from '../support/until.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

const LIMIT = 1_000;
const CHUNK = 64 * 1024;
/** More than the buffers of a connection take, on both of its ends. */
const CHUNKS = 256;

const noise = randomBytes(CHUNK);

/** Numbered, so that a lost, doubled or swapped one shows; and nothing that compression makes smaller. */
function chunkAt(index: number): Buffer {
  const chunk = Buffer.from(noise);
  chunk.writeUInt32BE(index);
  return chunk;
}

function digestOf(chunks: number): string {
  const hash = createHash('sha256');
  for (let i = 0; i < chunks; i += 1) hash.update(chunkAt(i));
  return hash.digest('hex');
}

/** Each one alone is below the limit, and far from filling a connection. */
const PIECES = Array.from({ length: 40 }, (_, index) => `${index}.`.repeat(100));

class Source extends Readable {
  produced = 0;

  override _read(): void {
    this.push(this.produced < CHUNKS ? chunkAt(this.produced) : null);
    this.produced += 1;
  }
}

forEachPlatform('Large bodies', (platform) => {
  describe.each([false, true])('A body above the limit, with compression: %s', (compressed) => {
    let source: Source;
    let raw: ServerResponse;
    let recording: Barrier;

    @Controller()
    class Handlers {
      @Post('json/:size')
      json(@Param('size') size: string) {
        return { text: 'x'.repeat(Number(size)) };
      }

      @Post('file')
      file(@Res({ passthrough: true }) response: AnyResponse) {
        source = new Source();
        raw = rawOf(response);
        return new StreamableFile(source, { type: 'text/plain' });
      }

      @Post('waits-for-its-stream')
      async waitsForItsStream(@Res() response: AnyResponse) {
        response.hijack?.();
        await pipeline(new Source(), rawOf(response));
      }

      @Post('small-pieces')
      smallPieces(@Res() response: AnyResponse) {
        response.header('content-type', 'text/plain');
        const pieces = Readable.from(PIECES);
        if (response.raw) response.send(pieces);
        else pieces.pipe(rawOf(response));
      }

      @Post('raw-after-the-end')
      rawAfterTheEnd(@Res() response: AnyResponse) {
        response.hijack?.();
        source = new Source();
        raw = rawOf(response);
        raw.setHeader('content-type', 'text/plain');
        source.pipe(raw);
      }
    }

    const recorder = new Recorder({
      maxBytes: LIMIT,
      decide: async () => {
        await recording.pass();
        return { kind: 'release', headers: { 'X-Recorded': 'yes' } };
      },
    });
    let server: TestApp;
    beforeAll(async () => {
      server = await platform.start(
        { controllers: [Handlers], providers: [recorder.interceptor()] },
        {
          configure: async (app) => {
            if (compressed) await compress(app);
          },
        },
      );
    });

    async function compress(app: INestApplication): Promise<void> {
      if (platform.name === 'express') app.use(compression());
      else await (app as NestFastifyApplication).register(fastifyCompress);
    }

    it('is sent in full and observed without its body', async () => {
      recording = barrier();
      recording.open();
      const answer = await send(`${server.url}/json/2000`, { key: 'json' });
      expect(answer.json()).toEqual({ text: 'x'.repeat(2000) });
      expect(answer.headers.get('x-recorded')).toBe('yes');
      expect(recorder.observed.get('json')).toMatchObject([{ status: 201, body: undefined }]);
    });

    it('is one byte longer than the limit at least', async () => {
      recording = barrier();
      recording.open();
      const overhead = JSON.stringify({ text: '' }).length;
      await send(`${server.url}/json/${LIMIT - overhead}`, { key: 'at' });
      await send(`${server.url}/json/${LIMIT - overhead + 1}`, { key: 'above' });
      expect((await recorder.recorded('at')).body).toHaveLength(LIMIT);
      expect((await recorder.recorded('above')).body).toBe(undefined);
    });

    it('is not read to its end while it waits to be recorded', async () => {
      recording = barrier();
      const answer = ask('file', 'waiting');
      await recording.arrived();
      await aFewExchanges();
      expect(source.produced).toBeLessThan(CHUNKS);
      recording.open();
      expect(await digest(await answer)).toBe(digestOf(CHUNKS));
    });

    it.each(['file', 'raw-after-the-end'])(
      'is sent as fast as the client reads it (%s)',
      async (path) => {
        recording = barrier();
        recording.open();
        const incoming = await ask(path, `flowing ${path}`);
        // Nobody reads yet, so the connection fills up and the source has to stop.
        await until(() => raw.writableNeedDrain);
        await aFewExchanges();
        expect(source.produced).toBeLessThan(CHUNKS);
        expect(await digest(incoming)).toBe(digestOf(CHUNKS));
      },
    );

    it('may be sent in small pieces', async () => {
      recording = barrier();
      const answer = ask('small-pieces', 'small');
      await recording.arrived();
      recording.open();
      const incoming = await answer;
      const body = compressed ? incoming.pipe(createGunzip()) : incoming;
      let text = '';
      for await (const piece of body) text += String(piece);
      expect(text).toBe(PIECES.join(''));
    });

    it('does not make a handler wait for itself', async () => {
      recording = barrier();
      recording.open();
      const incoming = await ask('waits-for-its-stream', 'pipeline');
      expect(await digest(incoming)).toBe(digestOf(CHUNKS));
      expect(recorder.observed.get('pipeline')).toMatchObject([{ status: 201, body: undefined }]);
    });

    /** Time for a source that nobody stops. */
    async function aFewExchanges(): Promise<void> {
      for (let i = 0; i < 5; i += 1) await send(`${server.url}/json/1`);
    }

    /** Resolves with the head of the answer, before its body is read. */
    function ask(path: string, key: string): Promise<IncomingMessage> {
      const headers = {
        'idempotency-key': key,
        ...(compressed && { 'accept-encoding': 'gzip' }),
      };
      return new Promise((resolve, reject) => {
        const options = { method: 'POST', headers, agent: false };
        request(`${server.url}/${path}`, options, resolve).on('error', reject).end();
      });
    }
  });
});

async function digest(incoming: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  const gzipped = incoming.headers['content-encoding'] === 'gzip';
  const body = gzipped ? incoming.pipe(createGunzip()) : incoming;
  for await (const chunk of body) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
