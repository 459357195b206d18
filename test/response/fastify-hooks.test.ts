import { Controller, Post, type INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { listen } from '../support/listen.js';
import { Recorder } from './recorder.js';

@Controller()
class Handlers {
  @Post('object')
  object() {
    return { id: 1 };
  }
}

describe("The application's own hooks, on fastify", () => {
  const recorder = new Recorder();
  let app: INestApplication;
  let url: string;
  /** The key on which the last hook fails, once. */
  let failing: string | undefined;

  beforeAll(async () => {
    const module = { controllers: [Handlers], providers: [recorder.interceptor()] };
    const testing = await Test.createTestingModule(module).compile();
    const adapter = new FastifyAdapter();
    const fastify = adapter.getInstance();
    fastify.addHook('onSend', async (_request, reply, payload) => {
      await new Promise(setImmediate);
      reply.header('x-of-this-request', 'fresh');
      reply.header('content-language', 'en');
      return typeof payload === 'string' ? payload.replace('}', ',"wrapped":1}') : payload;
    });
    fastify.addHook('onRoute', (route) => {
      // Hooks of a route run after those of the instance.
      route.onSend = async (request) => {
        if (failing === undefined || request.headers['idempotency-key'] !== failing) return;
        failing = undefined;
        throw new Error('the last hook failed');
      };
    });
    app = testing.createNestApplication(adapter, { logger: false });
    url = await listen(app, 'fastify');
  });
  afterAll(() => app.close());

  it('are part of the answer, once, if they run before ours', async () => {
    const first = await send(`${url}/object`, { key: 'before' });
    const replay = await send(`${url}/object`, { key: 'before' });
    expect(first.text).toBe('{"id":1,"wrapped":1}');
    expect(replay.body).toEqual(first.body);
    for (const answer of [first, replay]) {
      expect(answer.headers.get('x-of-this-request')).toBe('fresh');
      expect(answer.headers.get('content-language')).toBe('en');
    }
  });

  it('that fail after ours are answered with their error, and a retry with the record', async () => {
    for (const time of ['first', 'replay']) {
      failing = 'after';
      const answer = await send(`${url}/object`, { key: 'after' });
      expect({ time, status: answer.status }).toEqual({ time, status: 500 });
    }
    const replay = await send(`${url}/object`, { key: 'after' });
    expect(replay.status).toBe(201);
    expect(replay.text).toBe('{"id":1,"wrapped":1}');
    expect(recorder.executions.get('after')).toBe(1);
  });
});
