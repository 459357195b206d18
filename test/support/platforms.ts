import type { Socket } from 'node:net';
import type { INestApplication, LoggerService, ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, describe } from '@jest/globals';
import { createAdapter, listen, platformNames, type PlatformName } from './listen.js';

export type { PlatformName } from './listen.js';

export interface TestApp {
  app: INestApplication;
  /** Without a slash at the end: `${url}/orders`. */
  url: string;
  close(): Promise<void>;
}

export interface StartOptions {
  /** Global pipes, filters, middleware: called before the application is initialised. */
  configure?: (app: INestApplication) => void | Promise<void>;
  /** @default Nest's testing logger, which prints errors only */
  logger?: LoggerService | false;
  /** Keep the bytes of each body as `request.rawBody`. @default false */
  rawBody?: boolean;
}

export interface Platform {
  name: PlatformName;
  /** A real server on a free port. It is closed at the end of its describe block at the latest. */
  start(module: ModuleMetadata, options?: StartOptions): Promise<TestApp>;
}

/**
 * Runs the tests of one subject on both HTTP adapters. Name one adapter only if the
 * other has nothing of the kind.
 *
 * @param subject what the names of the tests say something about: `Replayed headers`
 */
export function forEachPlatform(
  subject: string,
  tests: (platform: Platform) => void,
  names: readonly PlatformName[] = platformNames,
): void {
  describe(`${subject}`, () => {
    onEachPlatform(tests, names);
  });
}

/** The same inside a `describe` that names the subject. */
export function onEachPlatform(
  tests: (platform: Platform) => void,
  names: readonly PlatformName[] = platformNames,
): void {
  describe.each(names)('on %s', (name) => {
    const running = new Set<TestApp>();
    afterAll(async () => {
      for (const { app } of running) {
        // A request that a failed test left hanging would hold up the end.
        app.getHttpServer().closeAllConnections();
        // So would a connection that a client opens ahead of its next request,
        // as fetch() does after an abort: it counts as busy for a minute.
        app.getHttpServer().on('connection', (socket: Socket) => socket.destroy());
      }
      await Promise.all([...running].map((app) => app.close()));
    });

    tests({
      name,
      async start(module, options = {}) {
        const started = await start(name, module, options);
        const close = async () => {
          if (running.delete(testApp)) await started.app.close();
        };
        const testApp: TestApp = { ...started, close };
        running.add(testApp);
        return testApp;
      },
    });
  });
}

async function start(name: PlatformName, module: ModuleMetadata, options: StartOptions) {
  const builder = Test.createTestingModule(module);
  const testing = await builder.compile();
  const { logger, rawBody = false } = options;
  const app = testing.createNestApplication(await createAdapter(name), {
    rawBody,
    ...(logger !== undefined && { logger }),
  });
  await options.configure?.(app);
  return { app, url: await listen(app, name) };
}
