import type { RunRecord } from '../runs/run-record.js';
import { ChangeReader, type Change } from './changes.js';
import { OUTBOX, type ChangedRow, type ChangesStore } from './changes-store.js';

/** What runs change in the databases of the application. */
export class World {
  private readonly readers: ChangeReader[];
  /** Of the last look: the messages that were added to the outbox, as rows. */
  messages: Record<string, unknown>[] = [];

  /** @param stores the first one is of the library's own data source */
  constructor(
    private readonly stores: readonly ChangesStore[],
    private readonly outbox: string,
    ignoredColumns: readonly string[],
  ) {
    this.readers = stores.map(({ tables }) => new ChangeReader(tables, ignoredColumns));
  }

  /** What changed until now is of no interest. */
  async forget(): Promise<void> {
    for (const store of this.stores) await store.take();
  }

  /** What was committed since the last look. */
  async changes({ statements, ownStatements }: RunRecord): Promise<Change[]> {
    const found: Change[] = [];
    const rows: ChangedRow[] = [];
    for (const [index, store] of this.stores.entries()) {
      const taken = await store.take();
      rows.push(...taken);
      found.push(...this.readers[index]!.read(taken, [...statements, ...ownStatements]));
    }
    this.messages = rows.filter(({ table }) => table === OUTBOX).map((row) => row.new!);
    return found;
  }

  putBack(message: Record<string, unknown>): Promise<void> {
    return this.stores[0]!.putBack(this.outbox, message);
  }

  /** @returns whether it was there */
  remove(message: Record<string, unknown>): Promise<boolean> {
    return this.stores[0]!.remove(this.outbox, message);
  }

  async close(): Promise<void> {
    for (const store of this.stores) await store.close();
  }
}
