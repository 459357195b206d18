import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import {
  Catch,
  ConflictException,
  Controller,
  Post,
  Req,
  Res,
  StreamableFile,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { forEachPlatform, type TestApp } from '../support/platforms.js';
import { rawOf, type AnyResponse } from './kinds-of-answers.controller.js';
import { Recorder } from './recorder.js';

type AnyRequest = IncomingMessage & { raw?: IncomingMessage };

/** Resolves once the server has noticed that the client is gone. */
const left = async (incoming: AnyRequest) => {
  const { socket } = incoming.raw ?? incoming;
  if (!socket.destroyed) await once(socket, 'close');
};

let gate: Barrier;
let destroyed: Promise<unknown>;

/** A timer that was set before, for a stream that may have broken off, has run by then: it is shorter. */
const afterBrokenOff = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Gives one chunk, or none, and then waits forever. */
function stuckStream(chunk?: string): Readable {
  const stream = new Readable({ read: () => undefined });
  if (chunk !== undefined) stream.push(chunk);
  destroyed = once(stream, 'close');
  return stream;
}

@Catch(ConflictException)
class PatientFilter implements ExceptionFilter {
  async catch(error: ConflictException, host: ArgumentsHost): Promise<void> {
    await new Promise(setImmediate);
    host.switchToHttp().getResponse<AnyResponse>().status(409).send(error.message);
  }
}

@Catch(ConflictException)
class LateFilter implements ExceptionFilter {
  async catch(error: ConflictException, host: ArgumentsHost): Promise<void> {
    await afterBrokenOff();
    host.switchToHttp().getResponse<AnyResponse>().status(409).send(error.message);
  }
}

@Controller()
class Handlers {
  @Post('object')
  async object(@Req() incoming: AnyRequest) {
    await Promise.all([gate.pass(), left(incoming)]);
    return { made: 'anyway' };
  }

  @Post('exception')
  @UseFilters(PatientFilter)
  async exception(@Req() incoming: AnyRequest) {
    await Promise.all([gate.pass(), left(incoming)]);
    throw new ConflictException('taken');
  }

  @Post('res-send')
  async resSend(@Req() incoming: AnyRequest, @Res() response: AnyResponse) {
    await Promise.all([gate.pass(), left(incoming)]);
    response.status(202).send('late');
  }

  @Post('late-exception')
  @UseFilters(LateFilter)
  async lateException(@Req() incoming: AnyRequest) {
    await Promise.all([gate.pass(), left(incoming)]);
    throw new ConflictException('taken');
  }

  @Post('answers-later')
  answersLater(@Req() incoming: AnyRequest, @Res() response: AnyResponse) {
    const answer = async () => {
      await Promise.all([gate.pass(), left(incoming)]);
      await afterBrokenOff();
      response.status(202).send('late');
    };
    void answer();
  }

  @Post('file')
  file() {
    void gate.pass();
    return new StreamableFile(stuckStream('some'));
  }

  @Post('large-file')
  largeFile() {
    return new StreamableFile(stuckStream('x'.repeat(5_000)));
  }

  @Post('late-file')
  async lateFile(@Req() incoming: AnyRequest) {
    await Promise.all([gate.pass(), left(incoming)]);
    return new StreamableFile(stuckStream('some'));
  }

  @Post('pipe')
  pipe(@Res() response: AnyResponse) {
    void gate.pass();
    response.hijack?.();
    stuckStream('some').pipe(rawOf(response));
  }

  @Post('silent-pipe')
  silentPipe(@Res() response: AnyResponse) {
    void gate.pass();
    response.hijack?.();
    stuckStream().pipe(rawOf(response));
  }

  @Post('late-pipe')
  async latePipe(@Req() incoming: AnyRequest, @Res() response: AnyResponse) {
    await Promise.all([gate.pass(), left(incoming)]);
    response.hijack?.();
    stuckStream().pipe(rawOf(response));
  }

  @Post('generator')
  async *generator() {
    yield 'some';
    void gate.pass();
    await new Promise(() => undefined);
  }

  @Post('late-generator')
  async *lateGenerator() {
    void gate.pass();
    await new Promise(() => undefined);
    yield 'never';
  }
}

forEachPlatform('Clients that leave', (platform) => {
  async function start(recorder: Recorder): Promise<TestApp> {
    const module = { controllers: [Handlers], providers: [recorder.interceptor()] };
    return platform.start(module, { logger: false });
  }

  async function askAndLeave(server: TestApp, path: string): Promise<void> {
    const client = new AbortController();
    const answer = send(`${server.url}/${path}`, { key: path, signal: client.signal });
    const ending = answer.then(
      () => 'answered',
      (error: Error) => error.name,
    );
    await gate.arrived();
    client.abort();
    expect(await ending).toBe('AbortError');
    gate.open();
  }

  beforeEach(() => {
    gate = barrier();
  });

  describe('A client that leaves before the answer', () => {
    // So long that only a rendered answer can end it within the test.
    const recorder = new Recorder({ brokenOffAfterMs: 600_000 });
    let server: TestApp;
    beforeAll(async () => {
      server = await start(recorder);
    });

    it.each([
      ['object', 201, '{"made":"anyway"}'],
      ['exception', 409, 'taken'],
      ['res-send', 202, 'late'],
    ])('gets it when it returns (%s)', async (path, status, text) => {
      await askAndLeave(server, path);
      const observed = await recorder.recorded(path);
      expect(observed.status).toBe(status);
      expect(observed.body?.toString()).toBe(text);

      const replay = await send(`${server.url}/${path}`, { key: path });
      expect(replay.status).toBe(status);
      expect(replay.text).toBe(text);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
    });
  });

  describe('An answer that takes longer than a stream may', () => {
    const recorder = new Recorder({ brokenOffAfterMs: 1 });
    let server: TestApp;
    beforeAll(async () => {
      server = await start(recorder);
    });

    it.each([
      ['late-exception', 409, 'taken'],
      ['answers-later', 202, 'late'],
    ])('is not taken for one whose client has left (%s)', async (path, status, text) => {
      await askAndLeave(server, path);
      const observed = await recorder.recorded(path);
      expect([observed.status, observed.body?.toString()]).toEqual([status, text]);
    });
  });

  describe('A stream whose client leaves', () => {
    const recorder = new Recorder({ brokenOffAfterMs: 1, maxBytes: 1_000 });
    let server: TestApp;
    beforeAll(async () => {
      server = await start(recorder);
    });

    it.each([
      'file',
      'late-file',
      'pipe',
      'silent-pipe',
      'late-pipe',
      'generator',
      'late-generator',
    ])('ends without a body (%s)', async (path) => {
      await askAndLeave(server, path);
      const observed = await recorder.recorded(path);
      expect(observed).toMatchObject({ status: 201, body: undefined });
      expect(recorder.observed.get(path)).toHaveLength(1);
    });

    it('is not read any further', async () => {
      await askAndLeave(server, 'file');
      await expect(destroyed).resolves.toEqual([]);
    });

    it('is not read any further if it was too large to hold', async () => {
      const options = { method: 'POST', agent: false, headers: { 'idempotency-key': 'large' } };
      const client = request(`${server.url}/large-file`, options).end();
      await once(client, 'response');
      client.destroy();
      await expect(destroyed).resolves.toEqual([]);
    });
  });
});
