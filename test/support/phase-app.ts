import { Body, Controller, Param, Post, type LoggerService } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import type { EntityManager } from 'typeorm';
import { crashAt } from './crash.js';
import { send, type Received, type Sending } from './http.js';
import {
  lapse,
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from './idempotent-app.js';
import { forEachPlatform, type Platform } from './platforms.js';

type Handler = (phases: AtomicPhase, body: any) => unknown;
type Start<App> = (platform: Platform, options: IdempotentAppOptions) => Promise<App>;

export interface PhaseApp extends IdempotentApp {
  /** What POST /<name> does from now on. Calling it again is a deployment. */
  handle(name: string, handler: Handler): void;
  post(name: string, key: string | undefined, sending?: Sending): Promise<Received>;
  /** A request whose attempt dies at a fault point; its lease has lapsed when this resolves. */
  crash(point: string, name: string, key: string): Promise<void>;
  /** The recorded phases of a key, in order. */
  phases(key: string): Promise<Record<string, any>[]>;
  /** What `note()` has written and committed. */
  notes(): Promise<string[]>;
  /** Warnings and errors of the application. */
  logs: string[];
}

/**
 * Runs the tests of one subject with such an application on both HTTP adapters; what
 * an earlier test has written and logged is gone. `app` can be used as soon as a test runs.
 */
export function describePhases(
  subject: string,
  tests: (app: PhaseApp, platform: Platform) => void,
  options: IdempotentAppOptions = {},
): void {
  forEachPlatform(subject, (platform) => {
    const app = {} as PhaseApp;
    beforeAll(async () => {
      Object.assign(app, await startPhaseApp(platform, options));
    });
    beforeEach(async () => {
      await app.database.query('TRUNCATE notes');
      app.logs.length = 0;
    });
    // Missing where the start failed, whose error says more than this one would.
    afterAll(() => (app as Partial<PhaseApp>).close?.());
    tests(app, platform);
  });
}

/**
 * An application whose handlers are made of phases and up to each test, with a
 * table `notes` that stands for the business data.
 */
export async function startPhaseApp<App extends IdempotentApp = IdempotentApp>(
  platform: Platform,
  options: IdempotentAppOptions = {},
  start: Start<App> = startIdempotentApp as Start<App>,
): Promise<App & PhaseApp> {
  const handlers = new Map<string, Handler>();
  const logs: string[] = [];

  @Controller()
  class PhasesController {
    constructor(private readonly phases: AtomicPhase) {}

    @Post(':name')
    @Idempotent()
    run(@Param('name') name: string, @Body() body: unknown): unknown {
      return handlers.get(name)!(this.phases, body);
    }
  }

  const { controllers = [], ...rest } = options;
  const app = await start(platform, {
    logger: collect(logs),
    ...rest,
    controllers: [...controllers, PhasesController],
  });
  const { database, url } = app;
  await database.query('CREATE TABLE IF NOT EXISTS notes (id serial, note text NOT NULL)');

  return {
    ...app,
    logs,
    handle(name, handler) {
      handlers.set(name, handler);
    },
    post: (name, key, sending = {}) =>
      send(`${url}/${name}`, { ...(key !== undefined && { key }), ...sending }),
    async crash(point, name, key) {
      await crashAt(point, `${url}/${name}`, { key });
      await lapse(database, key);
    },
    phases: (key) =>
      database.query(
        `SELECT p.* FROM idempotency_phases p JOIN idempotency_keys k ON p.scope = k.scope AND p.key_id = k.id
         WHERE k.key = $1 ORDER BY p.position`,
        [key],
      ),
    async notes() {
      const rows = await database.query<{ note: string }>('SELECT note FROM notes ORDER BY id');
      return rows.map((row) => row.note);
    },
  };
}

/** Business data of a test, written in a phase's transaction. */
export async function note(tx: EntityManager, text: string): Promise<void> {
  await tx.query('INSERT INTO notes (note) VALUES ($1)', [text]);
}

function collect(logs: string[]): LoggerService {
  const keep = (message: unknown) => void logs.push(String(message));
  return { log: () => undefined, warn: keep, error: keep, fatal: keep };
}
