import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { METRICS, type Metric } from '../../lib/opentelemetry/metric-list.js';
import { prometheusName } from '../docs/telemetry-tables.js';

const read = (path: string) =>
  readFile(new URL(`../../docs/observability/${path}`, import.meta.url), 'utf8');
const dashboard = await read('dashboard.json');
const rules = await read('alerts.yml');

/** Names in Prometheus, with the labels that each may have. */
const known = new Map<string, string[]>();
for (const [name, metric] of Object.entries<Metric>(METRICS)) {
  const labels = metric.attributes.map((attribute) => attribute.replaceAll('.', '_'));
  const base = prometheusName(name, metric);
  const suffixes = metric.kind === 'histogram' ? ['_bucket', '_count', '_sum'] : [''];
  for (const suffix of suffixes) known.set(base + suffix, labels);
}

interface Panel {
  title: string;
  targets: { expr: string }[];
}
const expressions = [
  ...(JSON.parse(dashboard) as { panels: Panel[] }).panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => [`panel ${title}`, expr] as const),
  ),
  ...rules
    .split('- alert: ')
    .slice(1)
    .map((rule) => {
      const [name] = rule.split('\n');
      const expr = /expr: (?:>-)?([^]*?)\n {8}(?:for|labels):/.exec(rule)![1]!;
      return [`alert ${name}`, expr] as const;
    }),
];

/** The names of labels in a query, without those that PromQL itself has. */
function labelsIn(query: string): string[] {
  const selected = [...query.matchAll(/\{([^}]*)\}/g)].flatMap(([, inner]) =>
    [...inner!.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label]) => label!),
  );
  const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, inner]) =>
    inner!.split(',').map((label) => label.trim()),
  );
  return [...selected, ...grouped].filter((label) => label !== 'le');
}

describe('The dashboard and the alert rules', () => {
  it.each(expressions)(
    '%s asks for a metric that exists, and for labels that it has',
    (_, query) => {
      const metrics = [...query.matchAll(/\bidempotency_\w+(?=[{[)\s]|$)/g)]
        .map(([name]) => name)
        .filter((name) => known.has(name));
      expect(metrics.length).toBeGreaterThan(0);
      const labels = metrics.flatMap((name) => known.get(name)!);
      expect(labels).toEqual(expect.arrayContaining(labelsIn(query)));
      const words = [...query.matchAll(/\b(?:idempotency|messaging)_\w+/g)].map(([word]) => word);
      expect([...metrics, ...labels]).toEqual(expect.arrayContaining(words));
    },
  );

  it('show every metric in some panel', () => {
    const names = Object.entries<Metric>(METRICS).map(([name, metric]) =>
      prometheusName(name, metric),
    );
    expect(names.filter((name) => !dashboard.includes(name))).toEqual([]);
  });
});

const promtool = process.env.PROMTOOL ?? 'promtool';
const missing = spawnSync(promtool, ['--version']).error !== undefined;
if (missing) {
  process.stderr.write(
    'The alert rules are not tested: promtool is missing. Install it (Debian: prometheus), or set PROMTOOL to its path.\n',
  );
}
(missing ? it.skip : it)('The alert rules fire when they should, and only then', () => {
  const tests = fileURLToPath(new URL('./alert-rules.yml', import.meta.url));
  const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', tests], {
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toMatchObject({ status: 0 });
});
