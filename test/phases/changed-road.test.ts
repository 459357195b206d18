import { expect, it } from '@jest/globals';
import type { AtomicPhase } from 'nestjs-atomic-idempotency';
import { keyRow } from '../support/idempotent-app.js';
import { describePhases, note } from '../support/phase-app.js';

type Step = [name: string, kind?: 'local' | 'foreign'];

/** A handler with these phases, each of which leaves its name in the notes. */
function road(...steps: Step[]) {
  return async (phases: AtomicPhase) => {
    for (const [name, kind = 'local'] of steps) {
      await (kind === 'local'
        ? phases.local(name, (tx) => note(tx, name))
        : phases.foreign(name, { call: async () => 1, record: (tx) => note(tx, name) }));
    }
    return 'done';
  };
}

const original: Step[] = [['a'], ['b', 'foreign'], ['c']];

const changes: [what: string, steps: Step[], message: string][] = [
  ['renamed', [['a'], ['x', 'foreign'], ['c']], 'Recorded: a → b. Reached now: a → x.'],
  ['reordered', [['b', 'foreign'], ['a'], ['c']], 'Recorded: a → b. Reached now: b.'],
  ['removed', [['a'], ['c']], 'Recorded: a → b. Reached now: a → c.'],
  [
    'added-in-between',
    [['a'], ['new'], ['b', 'foreign']],
    'Recorded: a → b. Reached now: a → new.',
  ],
  ['of-another-kind', [['a'], ['b', 'local']], 'Recorded: a → b. Reached now: a → b.'],
];

/** Behind a proxy that pools transactions, there may be a line about prepared statements as well. */
const usageErrors = (logs: readonly string[]) =>
  logs.filter((line) => line.startsWith('PhaseUsageError'));

describePhases('A deployment that changed the phases', (app) => {
  it.each(changes)('refuses to resume if phases were %s', async (key, steps, message) => {
    app.handle('ride', road(...original));
    await app.crash('c:before_commit', 'ride', key);
    app.handle('ride', road(...steps));

    const answer = await app.post('ride', key);

    expect(answer.status).toBe(500);
    const errors = usageErrors(app.logs);
    expect(errors).toEqual([expect.stringContaining(message)]);
    expect(errors[0]).toContain('an earlier attempt of this request recorded other phases here');
    expect(await app.notes()).toEqual(['a', 'b']);
    expect(await keyRow(app.database, key)).toMatchObject({
      status: 'failed_retryable',
      recovery_point: 'b',
    });

    // Rolling back the deployment helps.
    app.handle('ride', road(...original));
    expect((await app.post('ride', key)).text).toBe('done');
    expect(await app.notes()).toEqual(['a', 'b', 'c']);
  });

  it('names both kinds if a phase became another kind', async () => {
    app.handle('ride', road(['a']));
    await app.crash('recording:before', 'ride', 'kinds');
    app.handle('ride', road(['a', 'foreign']));
    await app.post('ride', 'kinds');

    expect(usageErrors(app.logs)[0]).toMatch(/Phase "a" \(foreign\).*It was recorded as local/);
  });

  it('may add phases at the end, which no attempt has reached yet', async () => {
    app.handle('ride', road(...original));
    await app.crash('c:before_commit', 'ride', 'longer');
    app.handle('ride', road(...original, ['d']));

    expect((await app.post('ride', 'longer')).text).toBe('done');
    expect(await app.notes()).toEqual(['a', 'b', 'c', 'd']);
  });
});
