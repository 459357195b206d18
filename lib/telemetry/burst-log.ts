/** Long enough to sum up an outage, short enough to show that it continues. */
const BURST = 10_000;

interface Burst {
  /** By performance.now(). */
  until: number;
  /** How many occurrences were not logged. */
  more: number;
}

/**
 * Logs events that come in bursts: an outage of the database fails every request
 * in the same way. The first event of a kind is logged at once. Further ones
 * within ten seconds are counted, and the next line says how many there were.
 */
export class BurstLog {
  private readonly bursts = new Map<string, Burst>();

  constructor(private readonly log: (line: string) => void) {}

  /**
   * @param kind what counts as the same: a name and, for example, a route. Nothing that clients
   *   choose: a kind is kept until the process ends
   * @param line built only when it is logged. No bodies, keys or scopes
   */
  note(kind: string, line: () => string): void {
    const now = performance.now();
    const burst = this.bursts.get(kind);
    if (burst && now < burst.until) {
      burst.more += 1;
      return;
    }
    this.bursts.set(kind, { until: now + BURST, more: 0 });
    this.log(burst?.more ? `${line()} (${burst.more} more like this since the last line)` : line());
  }
}
