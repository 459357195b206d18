import type { ServerState } from './server-queries.js';

/**
 * The highest timeline that the connections of a data source have met, of each
 * cluster. A promotion begins a new one, so a primary with a lower timeline was
 * replaced: what it still accepts, nobody else will see.
 *
 * Not one for the whole process: a copy of a cluster, as for a test environment,
 * has the same identifier and timelines of its own.
 */
export class Timelines {
  private readonly highest = new Map<string, number>();
  private readonly listeners = new Set<() => void>();

  /** Remembers what a server says. */
  note({ system, timeline }: ServerState): void {
    const before = this.highest.get(system);
    if (timeline === null || timeline <= (before ?? 0)) return;
    this.highest.set(system, timeline);
    if (before !== undefined) for (const tell of this.listeners) tell();
  }

  /** Whether another server of its cluster was promoted after it. */
  isReplaced({ system, timeline }: ServerState): boolean {
    return timeline !== null && timeline < (this.highest.get(system) ?? 0);
  }

  /** Calls back after each promotion that becomes known. Returns how to stop it. */
  onPromotion(tell: () => void): () => void {
    this.listeners.add(tell);
    return () => void this.listeners.delete(tell);
  }
}
