import type { CompleterStore, OpenOperation } from '../../../background/completer-store.js';
import { foundIn, type MemoryKey, type MemoryStore } from './memory-store.js';

/** Finds the operations that are left to workers, whatever pause they are to make: a test does not wait. */
export class MemoryOperations implements Pick<CompleterStore, keyof CompleterStore> {
  constructor(private readonly store: MemoryStore) {}

  async claimOperations(
    names: readonly string[],
    _claim: number,
    batch: number,
  ): Promise<OpenOperation[]> {
    return this.open
      .filter(({ operation }) => names.includes(operation))
      .slice(0, batch)
      .map((row) => ({ ...row, ...foundIn(row), operation: row.operation }));
  }

  async strangeOperations(
    names: readonly string[],
  ): Promise<{ operation: string; count: number }[]> {
    const strange = this.open.filter(({ operation }) => !names.includes(operation));
    return strange.map(({ operation }) => ({ operation, count: 1 }));
  }

  private get open(): (MemoryKey & { operation: string })[] {
    return this.store.all.filter(
      (row): row is MemoryKey & { operation: string } =>
        row.operation !== null &&
        row.resumeAfter !== null &&
        (row.status === 'pending' || row.status === 'failed_retryable'),
    );
  }
}
