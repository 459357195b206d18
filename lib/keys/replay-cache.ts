import { nameOf, type KeyName } from '../schema/key-name.js';
import type { FoundKey } from './key-store.js';
import { RememberedKey } from './remembered-key.js';

/** About what a key takes in memory besides its answer's body, with a request to recognise. */
const OVERHEAD = 2_000;

/** The largest share of the memory that one answer may take. */
const LARGEST_SHARE = 1 / 16;

/**
 * Finished keys that were just read, so that a burst of retries reads them once.
 * A finished key changes by its age, which is known, or by an operator's hand:
 * one in this process clears this memory, one in another process is heard of
 * when `memory` is over.
 */
export class ReplayCache {
  /** In the order in which they were read, which is also the order in which they lapse. */
  private readonly kept = new Map<string, RememberedKey>();
  private bytes = 0;
  private clearedAt = -Infinity;

  /**
   * @param memory how long a key is believed to be as it was read, in milliseconds
   * @param maxBytes what all of them may take
   */
  constructor(
    private readonly memory: number,
    private readonly maxBytes: number,
  ) {}

  get size(): number {
    return this.kept.size;
  }

  find(name: KeyName): RememberedKey | undefined {
    if (this.kept.size === 0) return undefined;
    const kept = this.kept.get(nameOf(name));
    return kept && performance.now() < kept.until ? kept : undefined;
  }

  /** @param asOf when the statement was sent that read it, by performance.now() */
  keep(name: KeyName, key: FoundKey, asOf: number): void {
    const until = asOf + Math.min(this.memory, key.expiresIn ?? Infinity);
    const bytes = OVERHEAD + (key.answer?.body.length ?? 0);
    const tooOld = until <= performance.now() || asOf <= this.clearedAt;
    if (tooOld || bytes > this.maxBytes * LARGEST_SHARE) return;
    const id = nameOf(name);
    this.drop(id);
    this.kept.set(id, new RememberedKey(key, until, bytes));
    this.bytes += bytes;
    this.makeRoom();
  }

  clear(): void {
    this.clearedAt = performance.now();
    this.kept.clear();
    this.bytes = 0;
  }

  private makeRoom(): void {
    const now = performance.now();
    for (const [id, { until }] of this.kept) {
      if (until > now && this.bytes <= this.maxBytes) break;
      this.drop(id);
    }
  }

  private drop(id: string): void {
    const kept = this.kept.get(id);
    if (!kept) return;
    this.kept.delete(id);
    this.bytes -= kept.bytes;
  }
}
