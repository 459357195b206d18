import { readFileSync } from 'node:fs';

/**
 * The arrows of the state diagram: the table of docs/concepts/states.md, which a
 * test compares with what the database sees. `[*]` is a key that is not there.
 *
 * @returns {{ from: string, to: string, when: string }[]}
 */
export function arrowsOfTable() {
  const page = readFileSync(new URL('../../concepts/states.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| from +\| to +\| when +\|\n\|.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .trim()
    .split('\n')
    .map((row) => {
      const [from = '', to = '', when = ''] = row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', ''));
      return { from: from.replace('none', '[*]'), to: to.replace('removed', '[*]'), when };
    });
}
