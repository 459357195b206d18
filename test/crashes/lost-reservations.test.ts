import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { observeFaultPoints } from 'nestjs-atomic-idempotency/testing';
import { send, type Received } from '../support/http.js';
import { startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { note } from '../support/phase-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { startRestartableServer, type RestartableServer } from '../support/restartable-server.js';

@Controller()
class NotesController {
  constructor(private readonly phases: AtomicPhase) {}

  @Post('phased')
  @Idempotent({ phased: true })
  phased() {
    return this.note();
  }

  @Post('accepting')
  @Idempotent({ phased: true, onInProgress: 'accept' })
  accepting() {
    return this.note();
  }

  @Post('plain')
  @Idempotent()
  plain() {
    return this.note();
  }

  private async note() {
    await this.phases.local('noted', (tx) => note(tx, 'noted'));
    return { noted: true };
  }
}

/** Which of the server's processes write to the disk what no commit has waited for. */
const WRITERS = `SELECT pid FROM pg_stat_activity
  WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')`;

let server: RestartableServer;
beforeAll(async () => {
  server = await startRestartableServer();
  await server.database.query('CREATE TABLE notes (id serial, note text NOT NULL)');
});
afterAll(() => server.stop());

forEachPlatform('Reservations in a crash of the server', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      database: server.database,
      logger: false,
      controllers: [NotesController],
    });
  });
  beforeEach(() =>
    server.database.query('TRUNCATE notes, idempotency_keys, idempotency_phases CASCADE'),
  );
  afterAll(() => app.close());

  const post = (path: string, key: string) => send(`${app.url}/${path}`, { key });
  const count = async (table: string) =>
    (await server.database.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`))[0]!
      .count;

  /** Nothing that was written without waiting for it reaches the disk before the crash. */
  async function postWithCrashAt(point: string, path: string, key: string): Promise<Received> {
    const writers = await server.database.query<{ pid: number }>(WRITERS);
    expect(writers).toHaveLength(3);
    const all = (signal: NodeJS.Signals) => writers.forEach(({ pid }) => process.kill(pid, signal));
    let up: Promise<void> | undefined;
    const stopObserving = observeFaultPoints(async ({ name }) => {
      if (name !== point || up) return;
      const crash = server.crash();
      up = crash.up;
      await crash.down;
      // They end where they stand. If they went on, they might write before the server tells them to
      // end: it tells the youngest connection first, and its own processes last.
      all('SIGKILL');
    });
    all('SIGSTOP');
    const answer = await post(path, key).finally(stopObserving);
    expect(up).toBeDefined();
    await up;
    return answer;
  }

  it('are lost on a phased route, and the retry takes effect once', async () => {
    const key = `${platform.name}-phased`;
    const first = await postWithCrashAt('reserved', 'phased', key);

    expect([first.status, first.json().code]).toEqual([409, 'lease_lost']);
    expect([await count('idempotency_keys'), await count('notes')]).toEqual([0, 0]);
    const retry = await post('phased', key);
    expect(retry.status).toBe(201);
    expect(await count('notes')).toBe(1);
    const replay = await post('phased', key);
    expect([replay.status, replay.text]).toEqual([201, retry.text]);
    expect(await count('notes')).toBe(1);
  });

  it('are kept with the first phase', async () => {
    const answer = await postWithCrashAt('noted:after_commit', 'phased', `${platform.name}-phase`);

    expect(answer.status).toBe(201);
    expect([await count('idempotency_keys'), await count('notes')]).toEqual([1, 1]);
  });

  it.each([
    ['on a plain route, whose handler may have effects of its own', 'plain'],
    ['on a route that gives clients the address of a running key', 'accepting'],
  ])('are kept %s', async (_, path) => {
    const answer = await postWithCrashAt('reserved', path, `${platform.name}-${path}`);

    expect(answer.status).toBe(201);
    expect([await count('idempotency_keys'), await count('notes')]).toEqual([1, 1]);
  });
});
