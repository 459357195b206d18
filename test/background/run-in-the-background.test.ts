import {
  Body,
  Catch,
  Controller,
  Injectable,
  Post,
  type ArgumentsHost,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, BaseExceptionFilter } from '@nestjs/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent, Resumable } from 'nestjs-atomic-idempotency';
import { map } from 'rxjs';
import { barrier, type Barrier } from '../support/barrier.js';
import { crashAt } from '../support/crash.js';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { age, runJob } from '../support/jobs.js';
import { forEachPlatform } from '../support/platforms.js';
import { recordingLogger } from '../support/recording-logger.js';
import { until } from '../support/until.js';

let gate: Barrier;
const filtered: unknown[] = [];
let closed = 0;
let renderings = 0;

@Injectable()
class Rides {
  constructor(private readonly phase: AtomicPhase) {}

  @Resumable('rides.slow')
  async create(ride: { target: string }): Promise<object> {
    await gate.pass();
    return this.phase.local('ride_created', async () => ({ ride: ride.target }));
  }
}

@Controller()
class RidesController {
  constructor(
    private readonly rides: Rides,
    private readonly phase: AtomicPhase,
  ) {}

  @Post('rides')
  @Idempotent({ run: 'background', lease: '2m', maxRunTime: '1h' })
  async create(@Body() ride: { target: string }): Promise<object> {
    try {
      return await this.rides.create(ride);
    } finally {
      closed += 1;
    }
  }

  @Post('rendered')
  @Idempotent({ run: 'background' })
  async rendered(@Body() ride: { target: string }): Promise<object> {
    const result = await this.rides.create(ride);
    renderings += 1;
    if (renderings === 1) throw new Error('a bug in the rendering');
    return { rendered: result };
  }

  @Post('plain')
  @Idempotent({ run: 'background' })
  plain(): object {
    return { ran: 'in the request' };
  }

  @Post('phase-only')
  @Idempotent({ run: 'background' })
  phaseOnly(): Promise<object> {
    return this.phase.local('done', async () => ({ ran: 'in the request' }));
  }
}

@Catch()
class EveryFilter extends BaseExceptionFilter {
  override catch(...args: [exception: unknown, host: ArgumentsHost]): void {
    filtered.push(args[0]);
    super.catch(...args);
  }
}

/** Fails on an answer without a value, as many do. */
@Injectable()
class Envelope implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(map((data: object) => ({ data, members: Object.keys(data).length })));
  }
}

forEachPlatform('Background work', (platform) => {
  describe("run: 'background'", () => {
    const logger = recordingLogger();
    let app: IdempotentApp;
    beforeAll(async () => {
      app = await startIdempotentApp(platform, {
        controllers: [RidesController],
        providers: [
          Rides,
          { provide: APP_FILTER, useClass: EveryFilter },
          { provide: APP_INTERCEPTOR, useClass: Envelope },
        ],
        idempotency: {
          // Only what wakes it lets it run.
          maintenance: {
            sweeper: false,
            reaper: false,
            reconciler: false,
            outbox: false,
            completer: { interval: '1h' },
          },
        },
        logger,
      });
    });
    beforeEach(() => {
      gate = barrier();
      filtered.length = 0;
      logger.errors.length = 0;
      logger.warnings.length = 0;
      closed = 0;
      renderings = 0;
    });
    afterAll(() => app.close());

    const ride = (key: string) => send(`${app.url}/rides`, { key, body: { target: 'mars' } });
    const performed = (key: string) =>
      until(async () => (await keyRow(app.database, key)).status === 'performed', 'performed');

    it('starts at once in the same process, and gets 202 while it waits and while it runs', async () => {
      const accepted = await ride('at-once');
      expect(accepted.status).toBe(202);
      await gate.arrived();
      expect(await keyRow(app.database, 'at-once')).toMatchObject({ status: 'in_progress' });
      const meanwhile = await ride('at-once');
      expect(meanwhile.status).toBe(202);
      expect(meanwhile.headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
      gate.open();
      await performed('at-once');
      const answer = await ride('at-once');
      expect(answer.status).toBe(201);
      expect(answer.json()).toEqual({ data: { ride: 'mars' }, members: 1 });
    });

    it('does not wait for a slow operation of another key', async () => {
      await ride('slow');
      await gate.arrived();
      await ride('beside-it');
      await gate.arrived(2);
      expect(gate.count).toBe(2);
      gate.open();
      await performed('slow');
      await performed('beside-it');
    });

    it('causes no error in logs, filters or interceptors, and lets the handler clean up', async () => {
      expect((await ride('quiet')).status).toBe(202);
      gate.open();
      await performed('quiet');
      expect(closed).toBe(1);
      expect(filtered).toEqual([]);
      expect([...logger.errors, ...logger.warnings]).toEqual([]);
    });

    it("keeps the route's lease and maxRunTime when a worker runs it", async () => {
      expect((await ride('long')).status).toBe(202);
      await gate.arrived();
      const row = await keyRow(app.database, 'long');
      expect(row).toMatchObject({ lease_ms: 120_000, max_run_time_ms: '3600000' });
      expect(row.locked_until - row.last_run_at).toBe(120_000);
      gate.open();
      await performed('long');
    });

    it('loses nothing if its process dies between the reservation and the handover to a worker', async () => {
      const key = 'died-early';
      await crashAt('reserved', `${app.url}/rides`, { key, body: { target: 'mars' } });
      await age(app.database, key);
      await runJob(app, 'sweeper');
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'failed_retryable' });
      expect((await ride(key)).status).toBe(202);
      gate.open();
      await performed(key);
      expect((await ride(key)).status).toBe(201);
    });

    it('stays performed if the answer could not be rendered, and is not run again', async () => {
      const key = 'rendered';
      const post = () => send(`${app.url}/rendered`, { key, body: { target: 'mars' } });
      expect((await post()).status).toBe(202);
      gate.open();
      await performed(key);
      expect((await post()).status).toBe(500);
      expect(await keyRow(app.database, key)).toMatchObject({
        status: 'performed',
        resume_after: null,
        completed_at: expect.any(Date),
      });
      expect((await post()).json()).toMatchObject({ data: { rendered: { ride: 'mars' } } });
      expect(gate.count).toBe(1);
    });

    it('stays performed if the process dies with the answer, and is not run again', async () => {
      const key = 'died-with-the-answer';
      await ride(key);
      gate.open();
      await performed(key);
      await crashAt('recording:before', `${app.url}/rides`, { key, body: { target: 'mars' } });
      await age(app.database, key);
      await runJob(app, 'sweeper');
      expect(await keyRow(app.database, key)).toMatchObject({ status: 'performed' });
      expect((await ride(key)).status).toBe(201);
      expect(gate.count).toBe(1);
    });

    it('is left to the next worker by a retry that finds a dead one', async () => {
      const key = 'dead-worker';
      expect((await ride(key)).status).toBe(202);
      await gate.arrived();
      await age(app.database, key); // it gave no sign of life
      expect((await ride(key)).status).toBe(202);
      await gate.arrived(2);
      gate.open();
      await performed(key);
      const { attempt, resume_attempts: tries } = await keyRow(app.database, key);
      expect({ attempt, tries }).toEqual({ attempt: 3, tries: 2 });
    });

    it.each([
      ['plain', 'RidesController.plain'],
      ['phase-only', 'RidesController.phaseOnly'],
    ])('is an error if the handler of /%s calls no @Resumable() method', async (path, name) => {
      const answer = await send(`${app.url}/${path}`, { key: path });
      expect(answer.status).toBe(500);
      expect(filtered).toEqual([
        expect.objectContaining({
          name: 'PhaseUsageError',
          message: expect.stringMatching(
            new RegExp(`^${name} has run: 'background', but it called no @Resumable\\(\\) method`),
          ),
        }),
      ]);
    });
  });
});
