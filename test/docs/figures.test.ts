import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { tableOf } from './document.js';

interface Row {
  label: string;
  platform: string;
  /** The store is a millisecond away. */
  far?: boolean;
  values: Record<'perSecond' | 'statements', { median: number }>;
}

const results = new URL('../../bench/results/bench.json', import.meta.url);
const { rows } = JSON.parse(readFileSync(results, 'utf8')) as { rows: Row[] };

/** As the report writes it: three digits that matter, and thousands set apart. */
function figure(value: number): string {
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString('en-US');
}

describe('Figures in the docs', () => {
  it.each(['route', 'steps'])(
    'figures in the table of %s are those of bench/results',
    (heading) => {
      const shown = tableOf('performance.md', heading);
      expect(shown.length).toBeGreaterThan(3);
      const measured = shown.map(([label]) => {
        const row = rows.find(
          (each) => each.label === label && each.platform === 'fastify' && !each.far,
        );
        return [label, figure(row!.values.perSecond.median), figure(row!.values.statements.median)];
      });
      expect(shown).toEqual(measured);
    },
  );

  it.each([
    ['20', 'yardsticks.md', 3],
    ['24', 'yardsticks-node-24.md', 5],
  ])('figures of the yardsticks on Node %s are those of bench/results', (_, file, column) => {
    const report = readFileSync(new URL(file, results), 'utf8');
    // Of each target, the medians of the library and of the first yardstick.
    const measured = report
      .split('\n### ')
      .slice(1)
      .map((section) => [...section.matchAll(/\| +(\S+ \(\S+\)) \|/g)].slice(0, 2))
      .map((medians) => medians.map(([, median]) => median));
    expect(measured.length).toBeGreaterThan(5);
    const shown = tableOf('../bench/README.md', 'target');
    expect(shown.map((cells) => cells.slice(column, column + 2))).toEqual(measured);
  });
});
