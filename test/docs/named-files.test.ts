import { access, readFile, readdir } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const decisions = (await readdir(new URL('docs/adr/', root))).map((name) => `docs/adr/${name}`);

describe('Documents', () => {
  it.each(['CONTRIBUTING.md', 'SECURITY.md', 'docs/security.md', ...decisions])(
    'the files that %s names are there',
    async (document) => {
      const text = await readFile(new URL(document, root), 'utf8');
      const named = text.matchAll(
        /`((?:lib|test|docs|migrations|\.github)\/[\w./-]*)(?::[^`]*)?`/g,
      );
      const missing: string[] = [];
      for (const path of new Set([...named].map(([, each]) => each!))) {
        await access(new URL(path, root)).catch(() => missing.push(path));
      }
      expect(missing).toEqual([]);
    },
  );

  it('the index of the decisions lists each of them', async () => {
    const index = await readFile(new URL('docs/adr/README.md', root), 'utf8');
    const listed = [...index.matchAll(/\]\((\d{4}-[^)]+)\)/g)].map(
      ([, name]) => `docs/adr/${name}`,
    );
    expect(listed).toEqual(decisions.filter((name) => /\/\d{4}-/.test(name)).toSorted());
  });
});
