/** Enough for all warnings of one application; a few hundred KiB at most. */
const MOST = 1_000;

/**
 * Remembers what has been logged. Names of topics, phases and hosts may come from
 * users' data, so the oldest is forgotten when there are too many: a repeated
 * line is better than unbounded memory.
 */
export class ReportedOnce {
  private readonly names = new Set<string>();

  constructor(private readonly most = MOST) {}

  get size(): number {
    return this.names.size;
  }

  /** True the first time it is called with this name. */
  isNew(name: string): boolean {
    if (this.names.has(name)) return false;
    this.names.add(name);
    if (this.names.size > this.most) {
      const [oldest] = this.names;
      this.names.delete(oldest!);
    }
    return true;
  }
}
