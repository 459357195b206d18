import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

let target = '';
let received = 0;

const clients = {
  async fetch(method: string): Promise<void> {
    await fetch(target, { method });
  },
  http(method: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(target, { method }, (incoming) => {
        incoming.resume().on('end', () => resolve());
      });
      outgoing.on('error', reject).end();
    });
  },
};
let client: keyof typeof clients = 'fetch';
const call = (method = 'POST') => clients[client](method);

@Controller()
class GuardedController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('in-local')
  @Idempotent()
  inLocal(): Promise<void> {
    return this.phase.local('created', () => call('GET'));
  }

  @Post('posts-in-local')
  @Idempotent()
  postsInLocal(): Promise<void> {
    return this.phase.local('created', () => call('POST'));
  }

  @Post('in-record')
  @Idempotent()
  inRecord(): Promise<void> {
    return this.phase.foreign('charged', { call: async () => undefined, record: () => call() });
  }

  @Post('twice-in-call')
  @Idempotent()
  twiceInCall(): Promise<void> {
    return this.phase.foreign('charged', {
      call: async () => {
        await call();
        await call();
      },
    });
  }

  @Post('outside')
  @Idempotent()
  outside(): Promise<void> {
    return call();
  }

  @Post('reads-outside')
  @Idempotent()
  readsOutside(): Promise<void> {
    return call('GET');
  }

  @Post('once-in-call')
  @Idempotent()
  onceInCall(): Promise<void> {
    return this.phase.foreign('charged', { call: () => call() });
  }

  @Post('unprotected')
  @Idempotent()
  unprotected(): Promise<void> {
    return this.phase.unprotected(() => call());
  }

  @Get('not-idempotent')
  notIdempotent(): Promise<void> {
    return call();
  }
}

let other: Server;
beforeAll(async () => {
  other = createServer((_, response) => {
    received += 1;
    response.end('{}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  target = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
});
afterAll(() => void other.close());

const mistakes = [
  ['in-local', /inside the transaction of phase "created".*foreign phase/],
  ['in-record', /inside the transaction of phase "charged".*foreign phase/],
  ['twice-in-call', /number 2 in the call of foreign phase "charged".*its own foreign phase/],
  ['outside', /outside any phase.*atomicPhase\.foreign\(\)/],
] as const;
const fine = ['reads-outside', 'once-in-call', 'unprotected'];

forEachPlatform('Foreign calls outside a phase', (platform) => {
  describe.each(['fetch', 'http'] as const)('with %s', (name) => {
    beforeEach(() => {
      client = name;
      received = 0;
    });

    describe("foreignCalls: 'warn'", () => {
      const logger = recordingLogger();
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, { controllers: [GuardedController], logger });
      });
      afterAll(() => app.close());

      it.each(mistakes)('logs %s once, with the host and what to do', async (route, message) => {
        for (const attempt of [1, 2]) {
          expect((await send(`${app.url}/${route}`, { key: `${route}-${attempt}` })).status).toBe(
            201,
          );
        }
        const warnings = logger.warnings.filter((warning) => message.test(warning));
        expect(warnings).toHaveLength(1);
        expect(warnings[0]).toContain('GuardedController');
        expect(warnings[0]).toContain('127.0.0.1');
      });

      it.each(fine)('accepts %s', async (route) => {
        const before = logger.warnings.length;
        expect((await send(`${app.url}/${route}`, { key: route })).status).toBe(201);
        expect(logger.warnings).toHaveLength(before);
      });

      it('does not affect other routes', async () => {
        const before = logger.warnings.length;
        expect((await send(`${app.url}/not-idempotent`, { method: 'GET' })).status).toBe(200);
        expect(logger.warnings).toHaveLength(before);
      });
    });

    describe("foreignCalls: 'throw'", () => {
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [GuardedController],
          idempotency: { foreignCalls: 'throw' },
          logger: false,
        });
      });
      afterAll(() => app.close());

      it.each(mistakes.map(([route]) => route))('refuses %s', async (route) => {
        const answer = await send(`${app.url}/${route}`, { key: route });
        expect(answer.status).toBeGreaterThanOrEqual(409);
        // Before Node 22.12, node:http tells of a request when it is on its way.
        if (name === 'fetch') expect(received).toBe(route === 'twice-in-call' ? 1 : 0);
      });

      it.each(fine)('accepts %s', async (route) => {
        expect((await send(`${app.url}/${route}`, { key: route })).status).toBe(201);
        expect(received).toBe(1);
      });
    });

    describe("foreignCalls: 'ignore'", () => {
      it('logs nothing', async () => {
        const logger = recordingLogger();
        const app = await startIdempotentApp(platform, {
          controllers: [GuardedController],
          idempotency: { foreignCalls: 'ignore' },
          logger,
        });
        for (const [route] of mistakes) {
          expect((await send(`${app.url}/${route}`, { key: route })).status).toBe(201);
        }
        expect(logger.warnings).toEqual([]);
        await app.close();
      });
    });

    describe("a phased route, with foreignCalls: 'ignore'", () => {
      const logger = recordingLogger();
      let app: IdempotentApp;
      beforeAll(async () => {
        app = await startIdempotentApp(platform, {
          controllers: [GuardedController],
          idempotency: { foreignCalls: 'ignore', phased: true, required: false },
          logger,
        });
      });
      afterAll(() => app.close());

      it.each(['outside', 'posts-in-local'])('still refuses %s', async (route) => {
        expect((await send(`${app.url}/${route}`, { key: route })).status).toBeGreaterThanOrEqual(
          409,
        );
        if (name === 'fetch') expect(received).toBe(0);
      });

      it('says what to do, and why it is an error here', async () => {
        logger.errors.length = 0;
        await send(`${app.url}/outside`, { key: 'message' });
        // fetch() keeps what ended it as its cause.
        if (name === 'http') {
          expect(logger.errors).toEqual([
            expect.stringMatching(/outside any phase.*atomicPhase\.foreign\(\).*What is phased/),
          ]);
        }
      });

      it('refuses a request without a key as well', async () => {
        expect((await send(`${app.url}/outside`)).status).toBe(500);
        if (name === 'fetch') expect(received).toBe(0);
      });

      // Reading changes nothing, and an error in a foreign phase would leave it in doubt.
      it.each([...fine, 'in-local', 'in-record', 'twice-in-call'])('accepts %s', async (route) => {
        expect((await send(`${app.url}/${route}`, { key: `${route}-ok` })).status).toBe(201);
      });

      it('does not affect other routes', async () => {
        expect((await send(`${app.url}/not-idempotent`, { method: 'GET' })).status).toBe(200);
      });
    });
  });
});
