import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { figure } from '../../bench/report/format.mjs';
import { simulate } from '../../bench/simulate.mjs';
import { tableOf } from './document.js';

interface Row {
  label: string;
  platform: string;
  /** The store is a millisecond away. */
  far?: boolean;
  values: Record<'perSecond' | 'databaseCpu' | 'statements' | 'log', { median: number }>;
}

const LABELS: Record<string, string> = {
  'a fresh key': 'ours, fresh',
  'a replay': 'ours, replay',
  'a local phase': 'ours, local phase',
  'local + foreign phases': 'ours, local + foreign phase',
};

const results = new URL('../../bench/results/bench.json', import.meta.url);
const { rows } = JSON.parse(readFileSync(results, 'utf8')) as { rows: Row[] };

describe('Scale', () => {
  it('the costs in the page are those of bench/results', () => {
    const shown = tableOf('scale.md', 'a request with');
    expect(shown.map(([label]) => label)).toEqual(Object.keys(LABELS));
    const measured = shown.map(([label]) => {
      const { values } = rows.find(
        (row) => row.platform === 'fastify' && !row.far && row.label === LABELS[label!],
      )!;
      const { perSecond, databaseCpu, statements, log } = values;
      return [
        label,
        ...[perSecond, databaseCpu, statements, log].map((each) => figure(each.median)),
      ];
    });
    expect(shown).toEqual(measured);
  });

  it('the simulation in the page is the one that is computed', () => {
    expect(tableOf('scale.md', 'requests and nodes')).toEqual(simulate().rows);
  });
});
