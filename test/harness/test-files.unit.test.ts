import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const FOLDER = join(import.meta.dirname, '..');
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.test.ts') && !file.startsWith('package/'),
);

/** `describe`, or a function of test/support that calls it with the same first argument. */
const SUBJECT = /^ {0,2}(describe(\.each|[A-Z]\w*)?|forEachPlatform)\(/m;
/** Prettier puts what is outside of everything else at the beginning of a line. */
const OUTSIDE = /^(it|test)(\.\w+)*[(<]/m;
/** The name of an adapter or an empty name is no subject. */
const NAMELESS = /^ {0,2}(describe|forEachPlatform)\(\s*['"`](on \w+)?['"`]/m;

describe('Test files', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(200);
  });

  it.each(files)('name their subject in a describe: %s', (file) => {
    const source = readFileSync(join(FOLDER, file), 'utf8');
    expect(source).toMatch(SUBJECT);
    expect(source).not.toMatch(OUTSIDE);
    expect(source).not.toMatch(NAMELESS);
  });
});
