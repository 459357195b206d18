import { Controller, Injectable, Post } from '@nestjs/common';
import { MessagePattern, Server, type CustomTransportStrategy } from '@nestjs/microservices';
import { describe, expect, it } from '@jest/globals';
import {
  AtomicPhase,
  Idempotent,
  Outbox,
  OutboxHandler,
  PhaseUsageError,
} from 'nestjs-atomic-idempotency';
import { firstValueFrom, isObservable } from 'rxjs';
import { DataSource } from 'typeorm';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { runJob } from '../support/jobs.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

@Injectable()
class Rides {
  /** Why messages could not be handled. */
  readonly refusals: unknown[] = [];

  constructor(readonly phases: AtomicPhase) {}

  create(): Promise<void> {
    return this.phases.local('ride_created', (tx) => note(tx, 'ride'));
  }

  charge(): Promise<unknown> {
    return this.phases.foreign('charge_created', { call: async () => 1 });
  }

  @OutboxHandler('rides')
  async deliver(): Promise<void> {
    await this.create().catch((error: unknown) => this.refusals.push(error));
  }
}

@Controller('plain')
class PlainController {
  constructor(private readonly rides: Rides) {}

  @Post()
  create(): Promise<void> {
    return this.rides.create();
  }

  @Post('covered')
  @Idempotent()
  covered(): Promise<void> {
    return this.rides.create();
  }

  @MessagePattern('ride')
  message(): Promise<void> {
    return this.rides.create().catch((error: unknown) => void this.rides.refusals.push(error));
  }
}

/** Messages without a network. */
class Wire extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {}

  async receive(pattern: string): Promise<void> {
    const result: unknown = await this.getHandlerByPattern(pattern)!({});
    if (isObservable(result)) await firstValueFrom(result, { defaultValue: undefined });
  }

  on(): void {}

  unwrap<T>(): T {
    return undefined as T;
  }
}
let wire: Wire;

const nowhere = (name: string) =>
  `Phase "${name}" was started outside an idempotent handler: the running code is not part of a request with @Idempotent(). ` +
  'Put @Idempotent() on the route or the message handler; around a job, a timer or any other function use Idempotency.run().';

const ridesOf = (app: PhaseApp) => app.app.get(Rides);

describePhases(
  'A phase outside a handler',
  (app) => {
    it('is refused without a request', async () => {
      const rides = ridesOf(app);
      for (const [work, name] of [
        [rides.create(), 'ride_created'],
        [rides.charge(), 'charge_created'],
      ] as const) {
        await expect(work).rejects.toThrow(new PhaseUsageError(nowhere(name)));
      }
      expect(await app.notes()).toEqual([]);
    });

    it('is refused in a route that is not idempotent', async () => {
      const answer = await send(`${app.url}/plain`, { key: 'plain' });

      expect(answer.status).toBe(500);
      expect(app.logs).toEqual([`PhaseUsageError: ${nowhere('ride_created')}`]);
      expect(await app.notes()).toEqual([]);
    });

    it('is told that a direct call of an idempotent handler has no key', async () => {
      await expect(app.app.get(PlainController).covered()).rejects.toThrow(
        'Phase "ride_created" was started in PlainController.covered, which has @Idempotent() but was not called by a request that @Idempotent() covers',
      );
      expect(await app.notes()).toEqual([]);
    });

    describe('in a message handler', () => {
      it('is refused', async () => {
        const { refusals } = ridesOf(app);
        refusals.length = 0;
        await wire.receive('ride');
        expect(refusals).toEqual([new PhaseUsageError(nowhere('ride_created'))]);
      });

      it('is refused when the message comes from the outbox, whichever request added it', async () => {
        const { refusals } = ridesOf(app);
        refusals.length = 0;
        const outbox = app.app.get(Outbox);
        await app.app.get(DataSource).transaction((tx) => outbox.add(tx, 'rides'));
        await runJob(app, 'outbox');
        expect(refusals).toEqual([
          expect.objectContaining({
            message: expect.stringContaining(
              `Phase "ride_created" was started in @OutboxHandler('rides'), a message handler.`,
            ),
          }),
        ]);
      });
    });

    it.each(['after-the-answer', undefined])(
      'is refused in a timer that outlives its handler (key: %s)',
      async (key) => {
        const answered = barrier();
        let late!: Promise<unknown>;
        app.handle('ride', async () => {
          late = new Promise((resolve) => {
            setTimeout(() => {
              void answered
                .pass()
                .then(() => ridesOf(app).create())
                .catch(resolve);
            });
          });
          return 'done';
        });

        expect((await app.post('ride', key)).text).toBe('done');
        answered.open();

        expect(await late).toEqual(
          new PhaseUsageError(
            'Phase "ride_created" was started after PhasesController.run had answered, so its request can no longer be resumed. ' +
              'Await everything the handler starts; what is left to a timer, an event or a promise that nobody awaits is not part of the request. ' +
              'For work that may come later, add a message to the Outbox in a phase.',
          ),
        );
        expect(await app.notes()).toEqual([]);
      },
    );
  },
  {
    controllers: [PlainController],
    providers: [Rides],
    idempotency: { required: false },
    async configure(app) {
      app.connectMicroservice({ strategy: (wire = new Wire()) }, { inheritAppConfig: true });
      await app.startAllMicroservices();
    },
  },
);
