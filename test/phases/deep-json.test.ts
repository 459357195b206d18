import { Body, Controller, Injectable, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Resumable } from 'nestjs-atomic-idempotency';
import { isTooDeep } from '../../lib/schema/json-depth.js';
import { send } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

@Injectable()
class Trees {
  constructor(private readonly phase: AtomicPhase) {}

  @Resumable('trees.plant')
  plant(_tree: unknown) {
    return this.phase.local('planted', async () => ({ planted: true }));
  }
}

@Controller()
class TreesController {
  constructor(
    private readonly trees: Trees,
    private readonly phase: AtomicPhase,
  ) {}

  @Post('plant')
  @Idempotent()
  plant(@Body() tree: unknown) {
    return this.trees.plant(tree);
  }

  @Post('plant-later')
  @Idempotent({ run: 'background' })
  plantLater(@Body() tree: unknown) {
    return this.trees.plant(tree);
  }

  @Post('copy')
  @Idempotent()
  copy(@Body() tree: unknown) {
    return this.phase.local('copied', async () => tree as object);
  }
}

forEachPlatform('Deep JSON', (platform) => {
  const logger = recordingLogger();
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      controllers: [TreesController],
      providers: [Trees],
      logger,
    });
  });
  afterAll(() => app.close());

  it.each(['plant', 'plant-later'])(
    "in the body of an operation's input gets 400 (%s)",
    async (path) => {
      for (let i = 0; i < 2; i++) {
        const answer = await send(`${app.url}/${path}`, { key: path, body: deep(5_000) });
        expect(answer.status).toBe(400);
        expect(answer.json()).toMatchObject({ code: 'body_invalid' });
      }
      expect(logger.errors).toEqual([]);
    },
  );

  it('with a thousand levels is accepted', async () => {
    const body = deep(1_000);
    expect((await send(`${app.url}/plant`, { key: 'deep', body })).status).toBe(201);
    expect((await send(`${app.url}/copy`, { key: 'copied', body })).text).toBe(body);
  });

  it('in a result is refused with an error that says so', async () => {
    const answer = await send(`${app.url}/copy`, { key: 'too-deep', body: deep(1_500) });
    expect(answer.status).toBe(500);
    expect(logger.errors.join()).toMatch(/more than 1000 levels/);
  });
});

describe('The depth of JSON', () => {
  it('does not count brackets in strings', () => {
    expect(isTooDeep(JSON.stringify(['['.repeat(5_000), '"\\[{'.repeat(2_000)]))).toBe(false);
    expect(isTooDeep(JSON.stringify(Array.from({ length: 5_000 }, () => [])))).toBe(false);
    expect(isTooDeep(deep(1_001))).toBe(true);
  });
});
