import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { Controller, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import type { Request } from 'express';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { lapse, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { isAlive } from '../support/is-alive.mjs';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { until } from '../support/until.js';
import { ask, describeOnCitus, onPort, scopesOnDifferentNodes } from './on-citus.js';

// It kills a worker that other test files use as well, so it runs by itself: see run.mjs.
const describeAlone = process.env.CITUS_MAY_BE_KILLED ? describeOnCitus : describe.skip;

const runs: string[] = [];
const held = barrier();

@Controller()
class OrdersController {
  @Post('orders/:name')
  @Idempotent()
  async create(@Param('name') name: string): Promise<string> {
    runs.push(name);
    if (name === 'slow') await held.pass();
    return name;
  }
}

describeAlone('A worker that is killed and comes back', () => {
  onEachPlatform(tests, ['express']);
});

function tests(platform: Platform): void {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, {
      idempotency: {
        scope: (request: Request) => request.get('x-account'),
        lease: '2s',
        storeTimeout: '2s',
        circuitBreaker: { failures: 1, after: '1ms' },
      },
      controllers: [OrdersController],
      logger: false,
    });
  });
  afterAll(() => app?.close());

  const post = (name: string, scope: string) =>
    send(`${app.url}/orders/${name}`, { key: name, headers: { 'x-account': scope } });

  it('costs requests of its scopes 503, and no other; nothing runs twice', async () => {
    const [lost, kept] = await scopesOnDifferentNodes(app.database);
    const url = onPort(app.database, lost.port);
    const worker = await Worker.at(url);
    expect((await post('before', lost.scope)).status).toBe(201);
    const slow = post('slow', lost.scope);
    await held.arrived();

    await worker.kill();
    try {
      expect((await post('meanwhile', lost.scope)).status).toBe(503);
      // The coordinator answers, so the breaker stays closed for the others.
      const again = post('meanwhile', lost.scope);
      expect((await post('elsewhere', kept.scope)).status).toBe(201);
      expect((await again).status).toBe(503);
      held.open();
      expect((await slow).status).toBe(503);
    } finally {
      await worker.start();
    }
    await until(async () => (await post('meanwhile', lost.scope)).status === 201, 'the worker');

    expect((await post('before', lost.scope)).headers.get('idempotent-replayed')).toBe('true');
    expect((await post('elsewhere', kept.scope)).headers.get('idempotent-replayed')).toBe('true');
    // The outcome of the slow one could not be recorded: it is not known, and not run again.
    await lapse(app.database, 'slow');
    expect((await post('slow', lost.scope)).status).toBe(409);
    expect([...runs].sort()).toEqual(['before', 'elsewhere', 'meanwhile', 'slow']);
  });
}

/** The server of a node on this machine. */
class Worker {
  private constructor(
    private readonly url: string,
    private readonly pid: number,
    private readonly folder: string,
    private readonly programs: string,
  ) {}

  static async at(url: string): Promise<Worker> {
    const [row] = await ask<{ pid: string; folder: string; programs: string }>(
      url,
      `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid,
              current_setting('data_directory') AS folder,
              (SELECT setting FROM pg_config WHERE name = 'BINDIR') AS programs`,
    );
    return new Worker(url, Number(row!.pid), row!.folder, row!.programs);
  }

  /** Its other processes may still finish a statement before they notice. */
  async kill(): Promise<void> {
    const others = await ask<{ pid: number }>(this.url, 'SELECT pid FROM pg_stat_activity');
    process.kill(this.pid, 'SIGKILL');
    await until(() => this.isGone(), 'the end of the worker');
    await until(() => others.every(({ pid }) => !isAlive(pid)), 'the end of its processes');
  }

  async start(): Promise<void> {
    const { uid, gid } = await stat(this.folder);
    await until(async () => {
      const program = spawn(
        `${this.programs}/pg_ctl`,
        ['-D', this.folder, '-l', `${this.folder}.log`, '-w', 'start'],
        { uid, gid, cwd: '/', stdio: 'ignore' },
      );
      const [code] = (await once(program, 'exit')) as [number | null];
      return code === 0;
    }, 'the start of the worker');
  }

  private isGone(): Promise<boolean> {
    return ask(this.url, 'SELECT 1').then(
      () => false,
      () => true,
    );
  }
}
