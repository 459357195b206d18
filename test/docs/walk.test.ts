import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { forEachPlatform } from '../support/platforms.js';
import { startServer } from '../support/server-process.js';
import { listedWalk, problemsOf } from './walk/walk.js';

const HOOKS = new URL('./walk/register.mjs', import.meta.url).href;

forEachPlatform('The walk of CONTRIBUTING.md', (platform) => {
  let database: TestDatabase;
  let listed: string[];
  let calls: string[];

  beforeAll(async () => {
    database = await createTestDatabase();
    listed = await listedWalk(platform.name);
    const server = await startServer('test/servers/walked-orders', {
      platform: platform.name,
      env: { DATABASE: database.url },
      nodeOptions: ['--import', HOOKS],
      bundled: false,
    });
    const order = (key: string) => send(`${server.url}/orders`, { key, body: { item: 'rocket' } });
    // The first request of a process opens connections and prepares statements.
    await order('first');
    await server.ask('trace');
    expect((await order('fresh')).status).toBe(201);
    calls = await server.ask<string[]>('traced');
    await server.kill();
  });
  afterAll(() => database.drop());

  it('a fresh request takes the walk of CONTRIBUTING.md', () => {
    expect(listed.length).toBeGreaterThan(20);
    expect(problemsOf(listed, calls)).toEqual([]);
  });

  it.each([
    [
      'a function that is not called',
      (walk: string[]) => [...walk, 'lib/keys/decision.ts:decide'],
      ['lib/keys/decision.ts:decide is listed and is not called.'],
    ],
    [
      'a file left out',
      (walk: string[]) => walk.filter((entry) => !entry.startsWith('lib/keys/key-store.ts')),
      [expect.stringMatching(/^lib\/keys\/key-store\.ts is on the way and not listed: .*reserve/)],
    ],
    [
      'recording after sending',
      (walk: string[]) => moveToEnd(walk, 'lib/keys/recorder.ts:Recorder.record'),
      [
        expect.stringMatching(
          / is listed where lib\/keys\/recorder\.ts:Recorder\.record is called/,
        ),
      ],
    ],
  ])('a list with %s would be found out', (_what, spoil, problems) => {
    expect(problemsOf(spoil(listed), calls)).toEqual(problems);
  });
});

function moveToEnd(walk: string[], entry: string): string[] {
  return [...walk.filter((each) => each !== entry), entry];
}
