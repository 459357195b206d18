import { Controller, Injectable, Post } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { AtomicPhase, PhaseUsageError } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { send } from '../support/http.js';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

@Injectable()
class Rides {
  constructor(readonly phases: AtomicPhase) {}

  create(): Promise<void> {
    return this.phases.local('ride_created', (tx) => note(tx, 'ride'));
  }

  charge(): Promise<unknown> {
    return this.phases.foreign('charge_created', { call: async () => 1 });
  }
}

@Controller('plain')
class PlainController {
  constructor(private readonly rides: Rides) {}

  @Post()
  create(): Promise<void> {
    return this.rides.create();
  }
}

const message = (name: string) =>
  `Phase "${name}" was started outside an idempotent handler. Put @Idempotent() on the route, and await everything the handler starts: what goes on after it has answered, or comes from a timer or an event, is not part of the request.`;

const ridesOf = (app: PhaseApp) => app.app.get(Rides);

describePhases(
  (app) => {
    it('a phase is refused where there is no request at all', async () => {
      const rides = ridesOf(app);
      for (const [work, name] of [
        [rides.create(), 'ride_created'],
        [rides.charge(), 'charge_created'],
      ] as const) {
        await expect(work).rejects.toThrow(new PhaseUsageError(message(name)));
      }
      expect(await app.notes()).toEqual([]);
    });

    it('a phase is refused in a route that is not idempotent', async () => {
      const answer = await send(`${app.url}/plain`, { key: 'plain' });

      expect(answer.status).toBe(500);
      expect(app.logs).toEqual([`PhaseUsageError: ${message('ride_created')}`]);
      expect(await app.notes()).toEqual([]);
    });

    it.each(['after-the-answer', undefined])(
      'a phase is refused in a timer that outlives its handler (key: %s)',
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

        expect(await late).toEqual(new PhaseUsageError(message('ride_created')));
        expect(await app.notes()).toEqual([]);
      },
    );
  },
  { controllers: [PlainController], providers: [Rides], idempotency: { required: false } },
);
