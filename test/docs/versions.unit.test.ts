import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { textOf } from '../checks/docs/pages.mjs';
import { CELLS, commandOf, NODE, PEERS, POSTGRES } from '../checks/matrix/cells.mjs';
import { tableOf } from './document.js';

const PAGE = 'reference/versions.md';
const manifest = JSON.parse(textOf('package.json')) as {
  engines: { node: string };
  peerDependencies: Record<string, string>;
};
const workflow = readFileSync(new URL('../../.github/workflows/ci.yml', import.meta.url), 'utf8');

const majors = Object.keys(POSTGRES).map(Number);
/** `^20.19.0 || >=22.12.0` as people write it. */
const words = (range: string) => range.replaceAll(/\.0(?!\d)/g, '').replaceAll(' || ', ' or ');
const supported = {
  Node: words(manifest.engines.node),
  Nest: words(manifest.peerDependencies['@nestjs/core']!).replaceAll('^', ''),
  TypeORM: '0.3.20 and later, or 1.x',
  PostgreSQL: `${Math.min(...majors)} to ${Math.max(...majors)}`,
};

describe('Supported versions', () => {
  it('are those of package.json', () => {
    expect(manifest.peerDependencies.typeorm).toBe('^0.3.20 || ^1.0.0');
    expect(manifest.peerDependencies['@nestjs/common']).toBe(
      manifest.peerDependencies['@nestjs/core'],
    );
  });

  it.each(Object.entries(supported))('of %s are the same on every page: %s', (name, range) => {
    expect(textOf('README.md')).toContain(`${name} ${range}`);
    for (const page of ['getting-started.md', PAGE]) {
      const row = tableOf(page, page === PAGE ? 'what' : '').find(([first]) => first === name);
      expect([page, row?.[1]]).toEqual([page, expect.stringMatching(startOf(range))]);
    }
  });

  it('begin with the oldest that the matrix runs', () => {
    const oldest = manifest.engines.node.match(/\d+\.\d+\.\d+/g);
    expect(Object.values(NODE)).toEqual(expect.arrayContaining(oldest!));
    const { typeorm } = PEERS['nest-11'];
    expect(manifest.peerDependencies.typeorm).toMatch(startOf(`^${typeorm} `));
  });

  it('are run by the workflow, as far as their makers support them', () => {
    const listIn = (name: string) =>
      JSON.parse(new RegExp(`^ +${name}: (\\[.*\\])$`, 'm').exec(workflow)![1]!) as number[];
    const lines = new Set(Object.keys(NODE).map((version) => Math.floor(Number(version))));
    expect(listIn('node')).toEqual([...lines].toSorted((a, b) => a - b));
    // PostgreSQL 13 is past its end of life.
    expect(listIn('postgres')).toEqual(majors.filter((major) => major > 13));
  });

  it('are shown with the command of each cell, and each cell has passed', () => {
    const rows = tableOf(PAGE, 'server');
    for (const cell of CELLS) {
      const row = rows.find((each) => each.at(-1)!.startsWith(commandOf(cell)));
      expect([commandOf(cell), row?.slice(0, 4)]).toEqual([
        commandOf(cell),
        [
          POSTGRES[cell.postgres].replace(/\.0-.*$/, '') +
            (cell.pgbouncer ? ' behind PgBouncer' : ''),
          NODE[cell.node],
          cell.peers ?? 'those of package.json',
          expect.stringMatching(/^(\d+ passed, \d+ skipped, 0 failed|not run.*)$/),
        ],
      ]);
    }
  });
});

function startOf(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.^|]/g, '\\$&')}`);
}
