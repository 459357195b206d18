/** More than one, so that idle entries are found faster than new ones come. */
const LOOKED_AT = 4;

/**
 * What a process remembers of scopes. A new one looks at a few others and drops those that
 * are idle, so the memory holds about as many as are in use, however many there have been.
 */
export class ScopeMemory<T> {
  private readonly entries = new Map<string, T>();
  private hand = this.entries.entries();

  /** @param isIdle whether nothing is lost if it is forgotten */
  constructor(private readonly isIdle: (value: T) => boolean) {}

  get size(): number {
    return this.entries.size;
  }

  get(scope: string): T | undefined {
    return this.entries.get(scope);
  }

  set(scope: string, value: T): void {
    if (!this.entries.has(scope)) this.dropSomeIdle();
    this.entries.set(scope, value);
  }

  private dropSomeIdle(): void {
    for (let count = 0; count < LOOKED_AT; count++) {
      const next = this.hand.next();
      if (next.done) {
        this.hand = this.entries.entries();
        return;
      }
      const [scope, value] = next.value;
      if (this.isIdle(value)) this.entries.delete(scope);
    }
  }
}
