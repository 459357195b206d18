import { expect, it } from '@jest/globals';
import { PhaseUsageError, type AtomicPhase } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

const inside = (inner: string, outer: string) =>
  `Phase "${inner}" was started inside phase "${outer}". A phase is one transaction or one foreign call; end the first one before the next begins.`;

const local = (phases: AtomicPhase) => phases.local('inner', async () => 1);
const foreign = (phases: AtomicPhase) => phases.foreign('inner', { call: async () => 1 });

describePhases('Phases at the same time', (app) => {
  it('are refused while the first one runs', async () => {
    const gate = barrier();
    app.handle('ride', async (phases) => {
      await Promise.all([
        phases.local('ride_created', async (tx) => {
          await note(tx, 'ride');
          await gate.pass();
        }),
        phases.local('receipt_staged', (tx) => note(tx, 'receipt')).finally(gate.open),
      ]);
    });

    expect((await app.post('ride', 'at-once')).status).toBe(500);
    expect(app.logs).toEqual([
      'PhaseUsageError: Phase "receipt_staged" was started while phase "ride_created" is running. Phases run one after another, because a resume has to know which came first: await each one (no Promise.all).',
    ]);
    expect(await app.notes()).toEqual(['ride']);
    expect(await keyRow(app.database, 'at-once')).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'ride_created',
    });
  });

  it.each([
    ['local-in-local', local],
    ['foreign-in-local', foreign],
  ])('are refused: %s', async (key, inner) => {
    app.handle('ride', (phases) =>
      phases.local('outer', async (tx) => {
        await note(tx, 'outer');
        await inner(phases);
      }),
    );

    expect((await app.post('ride', key)).status).toBe(500);
    expect(app.logs).toEqual([`PhaseUsageError: ${inside('inner', 'outer')}`]);
    expect(await app.notes()).toEqual([]);
    expect(await app.phases(key)).toEqual([]);
  });

  it.each([
    ['local-in-call', local],
    ['foreign-in-call', foreign],
  ])('are refused, which leaves the call in doubt: %s', async (key, inner) => {
    app.handle('ride', (phases) => phases.foreign('outer', { call: () => inner(phases) }));

    expect((await app.post('ride', key)).json()).toMatchObject({ code: 'outcome_unknown' });
    expect(app.logs).toContainEqual(`PhaseUsageError: ${inside('inner', 'outer')}`);
    expect((await app.phases(key)).map(({ name }) => name)).toEqual(['outer']);
  });

  it.each([
    ['local-in-record', local],
    ['foreign-in-record', foreign],
  ])('are refused as misuse: %s', async (key, inner) => {
    app.handle('ride', (phases) =>
      phases.foreign('outer', { call: async () => 1, record: () => inner(phases) }),
    );

    expect((await app.post('ride', key)).json()).toMatchObject({ code: 'outcome_unknown' });
    expect(app.logs).toContainEqual(`PhaseUsageError: ${inside('inner', 'outer')}`);
  });

  it('are refused on a resume as well, where phases take no time', async () => {
    app.handle('ride', async (phases) => {
      await phases.local('ride_created', async () => 1);
      await phases.local('receipt_staged', async () => 2);
    });
    await app.crash('recording:before', 'ride', 'resumed');
    let error: unknown;
    app.handle('ride', async (phases) => {
      await Promise.all([
        phases.local('ride_created', async () => 1),
        phases.local('receipt_staged', async () => 2),
      ]).catch((thrown: unknown) => (error = thrown));
    });
    await app.post('ride', 'resumed');

    expect(error).toBeInstanceOf(PhaseUsageError);
    expect((error as Error).message).toContain('while phase "ride_created" is running');
  });

  it('are allowed in two different requests', async () => {
    const both = barrier();
    app.handle('ride', (phases) =>
      phases.local('ride_created', async (tx) => {
        await both.pass();
        await note(tx, phases.current!.key);
      }),
    );

    const answers = [app.post('ride', 'left'), app.post('ride', 'right')];
    await both.arrived(2);
    both.open();

    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
    expect((await app.notes()).toSorted()).toEqual(['left', 'right']);
  });
});
