import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { fencesOf, pages, proseOf, textOf } from '../checks/docs/pages.mjs';
import { faultsOf } from './snippets/compile.js';

const EXAMPLES = new URL('./examples/', import.meta.url);
/** Shown by the file's name in the first line. */
const FILE = /^\/\/ ([\w.-]+\.ts)\n/;
/** At the top of a file that examples need and no page shows. */
const HIDDEN = /^(import .*\n)*\n*\/\*\* Not shown in the docs/;

const fences = pages()
  .filter((page) => !page.startsWith('bench/results/'))
  .flatMap(fencesOf);
const code = fences.filter(({ language }) => language === 'ts');
const shown = code.filter(({ code: text }) => FILE.test(text));

describe('code in the docs', () => {
  it('is in a language that a test looks at', () => {
    const known = ['ts', 'sql', 'json', 'bash', 'sh', 'http', 'text'];
    expect(fences.filter(({ language }) => !known.includes(language))).toEqual([]);
  });

  it.each(shown.map((fence) => [FILE.exec(fence.code)![1]!, fence.page, fence] as const))(
    'is %s, as it is compiled and run, in %s',
    async (file, _page, fence) => {
      const source = await readFile(new URL(file, EXAMPLES), 'utf8');
      expect(fence.code.replace(FILE, '')).toBe(source);
    },
  );

  it('shows every example, and each one is part of a test', async () => {
    const files = (await readdir(EXAMPLES)).filter((file) => file.endsWith('.ts'));
    const sources = new Map(
      await Promise.all(
        files.map(async (file) => [file, await readFile(new URL(file, EXAMPLES), 'utf8')] as const),
      ),
    );
    const tests = files.filter((file) => file.endsWith('.test.ts'));
    const visible = files.filter(
      (file) => !tests.includes(file) && !HIDDEN.test(sources.get(file)!),
    );
    expect(visible.toSorted()).toEqual(
      [...new Set(shown.map((fence) => FILE.exec(fence.code)![1]!))].toSorted(),
    );
    const imported = tests.map((test) => sources.get(test)!).join('\n');
    const others = [...sources].filter(([file]) => !tests.includes(file));
    for (const file of visible) {
      const path = `./${file.replace(/ts$/, 'js')}'`;
      const direct = imported.includes(path);
      // Or by another example that is.
      const through = others.some(
        ([other, source]) =>
          source.includes(path) && imported.includes(`./${other.replace(/ts$/, 'js')}'`),
      );
      expect([file, direct || through]).toEqual([file, true]);
    }
  });

  // One program of the compiler for all of them: seconds on a quiet machine, more on a busy one.
  it('compiles where it is no file of its own', () => {
    const snippets = code.filter((fence) => !shown.includes(fence) && fence.note === '');
    expect(snippets.length).toBeGreaterThan(0);
    expect(faultsOf(snippets)).toEqual([]);
  }, 300_000);

  it('says why where it cannot be compiled here', () => {
    const unchecked = code.filter(({ note }) => note !== '');
    expect(unchecked.map(({ page, note }) => `${page}: ${note}`)).toEqual([]);
  });

  it('is well-formed where it is JSON', () => {
    for (const { code: text } of fences.filter(({ language }) => language === 'json')) {
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    }
  });

  it('calls scripts that exist', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    const text = pages().map((page) => textOf(page));
    const called = text.flatMap((page) => [...page.matchAll(/npm run (?!-)([\w:]+)/g)]);
    expect(called.map(([, name]) => name).filter((name) => !(name! in scripts))).toEqual([]);
  });
});

describe('Code in the docs', () => {
  it('the README has no table of options: they have a page of their own', () => {
    expect(proseOf('README.md')).not.toMatch(/^\| module option/m);
  });
});
