import type { Meter, ObservableCallback } from '@opentelemetry/api';
import { onIdempotencyEvent } from '../telemetry/publish.js';
import { createGauge } from './gauge-metrics.js';

/**
 * How many scopes are counted for each one that is shown, so that the top ones
 * are in the right order.
 */
const COUNTED_PER_SHOWN = 20;

/**
 * Which scopes send the most duplicates. Their number is bounded: when it is
 * reached, a new scope replaces the one with the fewest duplicates and continues
 * its count. So a count may be too high by that much, and is never too low.
 */
export class DuplicatesPerScope {
  private readonly counts = new Map<string, number>();
  private readonly most: number;

  constructor(private readonly shown: number) {
    this.most = shown * COUNTED_PER_SHOWN;
  }

  add(scope: string): void {
    const count = this.counts.get(scope);
    if (count !== undefined || this.counts.size < this.most) {
      this.counts.set(scope, (count ?? 0) + 1);
      return;
    }
    const [least, fewest] = this.ordered().at(-1)!;
    this.counts.delete(least);
    this.counts.set(scope, fewest + 1);
  }

  get top(): [scope: string, duplicates: number][] {
    return this.ordered().slice(0, this.shown);
  }

  private ordered(): [string, number][] {
    return [...this.counts].sort(([, a], [, b]) => b - a);
  }
}

/** Counts them from now on, and shows the top ones. */
export function observeDuplicates(meter: Meter, shown: number): () => void {
  const duplicates = new DuplicatesPerScope(shown);
  const ends = [
    onIdempotencyEvent('replayed', ({ scope }) => duplicates.add(scope)),
    onIdempotencyEvent('accepted', ({ scope }) => duplicates.add(scope)),
    onIdempotencyEvent('refused', ({ scope, code }) => {
      if (code === 'in_progress' && scope !== undefined) duplicates.add(scope);
    }),
  ];
  const shownOnce = new Set<string>();
  const gauge = createGauge(meter, 'idempotency.scope.duplicates');
  const observe: ObservableCallback = (result) => {
    const top = new Map(duplicates.top);
    for (const scope of top.keys()) shownOnce.add(scope);
    // A scope that is not among the top ones any more is shown as zero: OpenTelemetry would repeat
    // its last value for ever.
    for (const scope of shownOnce) {
      result.observe(top.get(scope) ?? 0, { 'idempotency.scope': scope });
    }
  };
  gauge.addCallback(observe);
  return () => {
    gauge.removeCallback(observe);
    for (const end of ends) end();
  };
}
