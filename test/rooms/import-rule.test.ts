import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../', import.meta.url));
const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/** A project that breaks each rule once. */
const FILES = {
  'tsconfig.json': '{ "compilerOptions": { "module": "nodenext" } }',
  'lib/answers/answer.ts': 'export const ANSWER = 1;',
  'lib/keys/key.ts': 'export interface Key { id: string }\nexport const KEY = 1;',
  'lib/index.ts': 'export const INDEX = 1;',
  'lib/client/to-node.ts': `import { readFileSync } from 'node:fs';\nvoid readFileSync;`,
  'test/barrier.ts': 'export const BARRIER = 1;',
  'lib/keys/upwards.ts': `import { ANSWER } from '../answers/answer.js';\nvoid ANSWER;`,
  'lib/answers/downwards.ts': `import { KEY } from '../keys/key.js';\nvoid KEY;`,
  'lib/answers/type.ts': `import type { Key } from '../keys/key.js';\nexport type K = Key;`,
  'lib/operator/to-root.ts': `import { INDEX } from '../index.js';\nvoid INDEX;`,
  'lib/utils/no-room.ts': `import { ANSWER } from '../answers/answer.js';\nvoid ANSWER;`,
  'lib/keys/to-test.ts': `import { BARRIER } from '../../test/barrier.js';\nvoid BARRIER;`,
  'lib/keys/circle.ts': `import { back } from './back.js';\nexport const to = (): unknown => back;`,
  'lib/keys/back.ts': `import { to } from './circle.js';\nexport const back = (): unknown => to;`,
};

describe('The import rule of the rooms', () => {
  let project: string;
  let broken: Record<string, string>;
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'rooms-'));
    for (const [file, text] of Object.entries(FILES)) {
      const path = join(project, file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    broken = await brokenRules(project);
  });
  afterAll(() => rm(project, { recursive: true }));

  it('accepts an import from a room above', () => {
    expect(broken['lib/keys/upwards.ts']).toBeUndefined();
  });

  it.each([
    ['an import from a room below', 'lib/answers/downwards.ts', 'room-order-answers'],
    ['an imported type from a room below', 'lib/answers/type.ts', 'room-order-answers'],
    ['an import of the files at the top of lib', 'lib/operator/to-root.ts', 'room-order-operator'],
    ['an import of Node in the client', 'lib/client/to-node.ts', 'client-alone'],
    ['a folder that is no room', 'lib/utils/no-room.ts', 'room-unknown'],
    ['an import of a test', 'lib/keys/to-test.ts', 'lib-alone'],
    ['a cycle inside a room', 'lib/keys/back.ts', 'no-cycle'],
  ])('refuses %s', (_what, file, rule) => {
    expect(broken[file]).toBe(rule);
  });
});

/** The rule that each file breaks. */
function brokenRules(project: string): Promise<Record<string, string>> {
  const args = [cruiser, 'lib', '--config', join(root, '.dependency-cruiser.mjs'), '-T', 'json'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: project }, (_error, stdout, stderr) => {
      if (stdout === '') return reject(new Error(stderr));
      const { summary } = JSON.parse(stdout) as {
        summary: { violations: { from: string; rule: { name: string } }[] };
      };
      resolve(Object.fromEntries(summary.violations.map(({ from, rule }) => [from, rule.name])));
    });
  });
}
