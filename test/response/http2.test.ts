import { once } from 'node:events';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Controller, Post, Req, StreamableFile, type INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { listen } from '../support/listen.js';
import { Recorder } from './recorder.js';

/** What is used of Fastify's request over HTTP/2. */
interface Http2Request {
  raw: { stream: Readable };
}

let gate: Barrier;

/** Resolves once the server has noticed that the client is gone. */
async function left({ raw: { stream } }: Http2Request): Promise<void> {
  void gate.pass();
  if (!stream.destroyed) await once(stream, 'close');
}

/** Gives one chunk and then waits forever. */
function stuckStream(): Readable {
  const stream = new Readable({ read: () => undefined });
  stream.push('some');
  return stream;
}

@Controller()
class Handlers {
  @Post('object')
  object() {
    return { id: 1 };
  }

  @Post('file')
  file() {
    return new StreamableFile(Readable.from(['a', 'b']));
  }

  @Post('left-object')
  async leftObject(@Req() request: Http2Request) {
    await left(request);
    return { made: 'anyway' };
  }

  @Post('left-file')
  async leftFile(@Req() request: Http2Request) {
    await left(request);
    return new StreamableFile(stuckStream());
  }

  @Post('stuck-file')
  stuckFile() {
    void gate.pass();
    return new StreamableFile(stuckStream());
  }
}

describe('Answers over HTTP/2, on fastify', () => {
  const recorder = new Recorder({ brokenOffAfterMs: 1 });
  let app: INestApplication;
  let client: ClientHttp2Session;

  beforeAll(async () => {
    const module = { controllers: [Handlers], providers: [recorder.interceptor()] };
    const testing = await Test.createTestingModule(module).compile();
    const adapter = new FastifyAdapter({ http2: true } as object);
    app = testing.createNestApplication(adapter, { logger: false });
    client = connect(await listen(app, 'fastify'));
  });
  afterAll(async () => {
    client.destroy();
    await app.close();
  });
  beforeEach(() => {
    gate = barrier();
  });

  const begin = (path: string) =>
    client.request({ ':method': 'POST', ':path': `/${path}`, 'idempotency-key': path });

  async function ask(path: string) {
    const stream = begin(path);
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return { headers, text: await text(stream) };
  }

  async function askAndLeave(path: string): Promise<void> {
    const stream = begin(path);
    const closed = once(stream, 'close');
    await gate.arrived();
    stream.close();
    await closed;
    gate.open();
  }

  it.each([
    ['object', '{"id":1}'],
    ['file', 'ab'],
  ])('are replayed (%s)', async (path, body) => {
    const first = await ask(path);
    expect([first.headers[':status'], first.text]).toEqual([201, body]);
    const replay = await ask(path);
    expect([replay.headers[':status'], replay.text]).toEqual([201, body]);
    expect(replay.headers['idempotent-replayed']).toBe('true');
    expect(recorder.executions.get(path)).toBe(1);
  });

  it('are recorded although the client has left', async () => {
    await askAndLeave('left-object');
    expect((await recorder.recorded('left-object')).body?.toString()).toBe('{"made":"anyway"}');
    expect((await ask('left-object')).text).toBe('{"made":"anyway"}');
  });

  it.each(['left-file', 'stuck-file'])(
    'end without a body when the client of a stream leaves (%s)',
    async (path) => {
      await askAndLeave(path);
      expect(await recorder.recorded(path)).toMatchObject({ status: 201, body: undefined });
    },
  );
});
