import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { ConflictException, Controller, Post, Req, Res } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { concat, defer, map, of, type Observable } from 'rxjs';
import { barrier, type Barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { until } from '../support/until.js';

type AnyRequest = IncomingMessage & { raw?: IncomingMessage };
interface AnyResponse {
  status(code: number): { send(body: unknown): void };
}

let gate: Barrier;
/** What handlers did, in order. */
let done: string[];

/** The part of the work that the client does not wait for. */
async function workAfterTheClientLeft(request: AnyRequest): Promise<void> {
  done.push('begun');
  void gate.pass();
  const { socket } = request.raw ?? request;
  if (!socket.destroyed) await once(socket, 'close');
  await gate.pass();
  done.push('finished');
}

/** Emits before, during and after the client's departure. */
function emissions(request: AnyRequest): Observable<unknown> {
  return concat(
    of({ step: 'first' }),
    defer(() => workAfterTheClientLeft(request)).pipe(map(() => ({ step: 'second' }))),
    defer(async () => {
      done.push('after');
      return { step: 'last' };
    }),
  );
}

@Controller()
class Handlers {
  @Post('async')
  @Idempotent()
  async async(@Req() request: AnyRequest) {
    await workAfterTheClientLeft(request);
    done.push('after');
    return { step: 'last' };
  }

  @Post('observable')
  @Idempotent()
  observable(@Req() request: AnyRequest) {
    return emissions(request);
  }

  @Post('async-observable')
  @Idempotent()
  async asyncObservable(@Req() request: AnyRequest) {
    await Promise.resolve();
    return emissions(request);
  }

  @Post('res')
  @Idempotent()
  async res(@Req() request: AnyRequest, @Res() response: AnyResponse) {
    await workAfterTheClientLeft(request);
    done.push('after');
    response.status(201).send({ step: 'last' });
  }

  @Post('exception')
  @Idempotent()
  async exception(@Req() request: AnyRequest) {
    await workAfterTheClientLeft(request);
    done.push('after');
    throw new ConflictException({ step: 'last' });
  }

  @Post('failing-observable')
  @Idempotent()
  failingObservable(@Req() request: AnyRequest) {
    return emissions(request).pipe(
      map((value) => {
        if (done.includes('after')) throw new ConflictException({ step: 'last' });
        return value;
      }),
    );
  }

  @Post('bug')
  @Idempotent()
  async bug(@Req() request: AnyRequest) {
    if (done.length > 0) return { step: 'repaired' };
    await workAfterTheClientLeft(request);
    throw new Error('a bug');
  }
}

forEachPlatform('Clients that leave', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [Handlers], logger: false });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    gate = barrier();
    done = [];
  });

  const ask = (path: string, signal?: AbortSignal) =>
    send(`${app.url}/${path}`, { key: path, signal });

  async function askAndLeave(path: string): Promise<string> {
    const client = new AbortController();
    const failure = expect(ask(path, client.signal)).rejects.toThrow('aborted');
    await gate.arrived();
    client.abort();
    await failure;
    // The client is gone, the handler is not.
    await gate.arrived(2);
    gate.open();
    return until(async () => {
      const { status } = await keyRow(app.database, path);
      return status !== 'in_progress' && (status as string);
    });
  }

  describe('A handler whose client leaves', () => {
    it.each([
      ['async', 201],
      ['observable', 201],
      ['async-observable', 201],
      ['res', 201],
      ['exception', 409],
      ['failing-observable', 409],
    ])('finishes, and its answer is replayed (%s)', async (path, status) => {
      expect(await askAndLeave(path)).toBe('completed');
      expect(done).toEqual(['begun', 'finished', 'after']);

      const retry = await ask(path);
      expect(retry.status).toBe(status);
      expect(retry.json()).toEqual({ step: 'last' });
      expect(retry.headers.get('idempotent-replayed')).toBe('true');
      expect(done).toHaveLength(3);
    });

    it('leaves its key open for the retry if it fails', async () => {
      expect(await askAndLeave('bug')).toBe('failed_retryable');
      const retry = await ask('bug');
      expect([retry.status, retry.json()]).toEqual([201, { step: 'repaired' }]);
    });
  });
});
