// The tables of docs/guides/observability.md, as the code would have them, without backticks.
import { readFile } from 'node:fs/promises';
import { METRICS, type Metric } from '../../lib/opentelemetry/metric-list.js';
import { EVENT_NAMES } from '../../lib/telemetry/events.js';

/** Each event with the sentences above it in the code. */
export async function eventRows(): Promise<string[][]> {
  const source = await readFile(new URL('../../lib/telemetry/events.ts', import.meta.url), 'utf8');
  const list = source.slice(source.indexOf('export interface IdempotencyEvents'));
  return EVENT_NAMES.map((name) => {
    const comment = new RegExp(`/\\*\\* (.+) \\*/\n  ${name}: `).exec(list)?.[1];
    if (comment === undefined) throw new Error(`Event ${name} has no sentence in events.ts.`);
    return [name, comment.replaceAll('`', '')];
  });
}

export function metricRows(): string[][] {
  return Object.entries<Metric>(METRICS).map(([name, { kind, unit, description, attributes }]) => [
    name,
    kind,
    unit,
    description,
    attributes.join(', '),
  ]);
}

/** The name under which Prometheus shows it, by OpenTelemetry's rules. */
export function prometheusName(name: string, { kind, unit }: Metric): string {
  const base = name.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '');
  return kind === 'counter' ? `${base}_total` : base;
}
