import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { PhaseUsageError, type AtomicPhase } from 'nestjs-atomic-idempotency';
import { describePhases, note, type PhaseApp } from '../support/phase-app.js';

/** The error of a phase that must not start, in a request where everything else goes well. */
async function misuse(
  app: PhaseApp,
  key: string,
  use: (phases: AtomicPhase) => Promise<unknown>,
): Promise<Error> {
  let error: unknown;
  app.handle('misuse', async (phases) => {
    await use(phases).catch((thrown: unknown) => (error = thrown));
  });
  expect((await app.post('misuse', key)).status).toBe(201);
  expect(error).toBeInstanceOf(PhaseUsageError);
  return error as Error;
}

const bad: [what: string, name: unknown, message: RegExp][] = [
  ['empty', '', /needs a name of 1 to 100 characters, such as 'charge_created'; it got ""/],
  ['overlong', 'x'.repeat(101), /needs a name of 1 to 100 characters/],
  ['not a string', undefined, /needs a name of 1 to 100 characters.*it got undefined/],
  ['"started"', 'started', /every request begins.*such as 'ride_created'/],
  ['"finished"', 'finished', /every request ends.*such as 'ride_created'/],
];

describePhases('Phase names', (app) => {
  it.each(bad)('must not be %s', async (_, name, message) => {
    const local = await misuse(app, randomUUID(), (phases) =>
      phases.local(name as string, (tx) => note(tx, 'work')),
    );
    const foreign = await misuse(app, randomUUID(), (phases) =>
      phases.foreign(name as string, { call: async () => 1 }),
    );
    expect(local.message).toMatch(message);
    expect(foreign.message).toMatch(message);
    expect(await app.notes()).toEqual([]);
  });

  it('may have 100 characters of any kind', async () => {
    const name = `${'x'.repeat(80)} Größe "ü" → 🚀`;
    app.handle('ride', (phases) => phases.local(name, (tx) => note(tx, 'ride')));

    await app.crash('recording:before', 'ride', 'any-kind');
    expect((await app.post('ride', 'any-kind')).status).toBe(201);

    expect(await app.phases('any-kind')).toMatchObject([{ name }]);
    expect(await app.notes()).toEqual(['ride']);
  });

  it.each([
    ['local-local', 'local', 'local'],
    ['local-foreign', 'local', 'foreign'],
    ['foreign-local', 'foreign', 'local'],
    ['foreign-foreign', 'foreign', 'foreign'],
  ] as const)('must not be used twice in one request (%s)', async (key, first, second) => {
    const start = (phases: AtomicPhase, kind: 'local' | 'foreign') =>
      kind === 'local'
        ? phases.local('twice', (tx) => note(tx, 'work'))
        : phases.foreign('twice', { call: async () => 1, record: (tx) => note(tx, 'work') });
    const error = await misuse(app, key, async (phases) => {
      await start(phases, first);
      await start(phases, second);
    });

    expect(error.message).toBe(
      'Phase "twice" was already used in this request. A resume finds phases by name, so each needs its own; in a loop, add the item\'s number.',
    );
    expect(await app.notes()).toEqual(['work']);
  });

  it('must not be used twice if the first phase was rejected', async () => {
    const { HttpException } = await import('@nestjs/common');
    const error = await misuse(app, 'rejected-twice', async (phases) => {
      const call = () => Promise.reject(new HttpException('declined', 402));
      await phases.foreign('charge_created', { call }).catch(() => undefined);
      await phases.foreign('charge_created', { call });
    });

    expect(error.message).toContain('"charge_created" was already used');
  });
});
