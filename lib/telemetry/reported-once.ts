/** Enough for all that one application has to be told about; a few hundred KiB at most. */
const MOST = 1_000;

/**
 * What the log has been told already. Names of topics, phases and hosts may come
 * from data of the application's users, so the oldest is forgotten when there are
 * too many: better to say something twice than to grow for ever.
 */
export class ReportedOnce {
  private readonly names = new Set<string>();

  constructor(private readonly most = MOST) {}

  get size(): number {
    return this.names.size;
  }

  /** Whether it is news; from now on it is not. */
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
