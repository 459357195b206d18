import { createHash } from 'node:crypto';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import { Controller, Param, Post, Res, StreamableFile, type INestApplication } from '@nestjs/common';
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
const CHUNKS = 512;

/** Bytes that differ from chunk to chunk, so that a lost, doubled or swapped one shows. */
const chunkAt = (index: number): Buffer => Buffer.alloc(CHUNK, `${index}.`);

function digestOf(chunks: number): string {
  const hash = createHash('sha256');
  for (let i = 0; i < chunks; i += 1) hash.update(chunkAt(i));
  return hash.digest('hex');
}

class Source extends Readable {
  produced = 0;

  override _read(): void {
    this.push(this.produced < CHUNKS ? chunkAt(this.produced) : null);
    this.produced += 1;
  }
}

forEachPlatform((platform) => {
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

      @Post('raw-after-the-end')
      rawAfterTheEnd(@Res() response: AnyResponse) {
        response.hijack?.();
        source = new Source();
        raw = rawOf(response);
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

    it('starts right above the limit', async () => {
      recording = barrier();
      recording.open();
      const overhead = JSON.stringify({ text: '' }).length;
      await send(`${server.url}/json/${LIMIT - overhead}`, { key: 'at' });
      await send(`${server.url}/json/${LIMIT - overhead + 1}`, { key: 'above' });
      expect((await recorder.settled('at')).body).toHaveLength(LIMIT);
      expect((await recorder.settled('above')).body).toBe(undefined);
    });

    it('is not read to its end while it waits to be recorded', async () => {
      recording = barrier();
      const answer = digest(await ask('file', 'waiting', recording));
      expect(source.produced).toBeLessThan(CHUNKS);
      expect(await answer).toBe(digestOf(CHUNKS));
    });

    it.each(['file', 'raw-after-the-end'])('flows as fast as the client reads it (%s)', async (path) => {
      recording = barrier();
      recording.open();
      const incoming = await ask(path, `flowing ${path}`);
      // Nobody reads yet, so the connection fills up and the source has to stop.
      await until(() => raw.writableNeedDrain);
      for (let i = 0; i < 5; i += 1) await send(`${server.url}/json/1`);
      expect(source.produced).toBeLessThan(CHUNKS);
      expect(await digest(incoming)).toBe(digestOf(CHUNKS));
    });

    it('does not keep a handler waiting for itself', async () => {
      recording = barrier();
      recording.open();
      const incoming = await ask('waits-for-its-stream', 'pipeline');
      expect(await digest(incoming)).toBe(digestOf(CHUNKS));
      expect(recorder.observed.get('pipeline')).toMatchObject([{ status: 201, body: undefined }]);
    });

    /** Resolves with the head of the answer, before its body is read. */
    function ask(path: string, key: string, opened?: Barrier): Promise<IncomingMessage> {
      const headers = {
        'idempotency-key': key,
        ...(compressed && { 'accept-encoding': 'gzip' }),
      };
      return new Promise((resolve, reject) => {
        const options = { method: 'POST', headers, agent: false };
        request(`${server.url}/${path}`, options, resolve).on('error', reject).end();
        void opened?.arrived().then(async () => {
          for (let i = 0; i < 5; i += 1) await send(`${server.url}/json/1`);
          expect(source.produced).toBeLessThan(CHUNKS);
          opened.open();
        }, reject);
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
