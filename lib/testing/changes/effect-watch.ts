import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { DATA_SOURCE } from '../../tokens.js';
import { changeOf } from '../runs/observed-counts.js';
import { ChangesStore } from '../world/changes-store.js';
import { ownTables } from '../world/own-tables.js';
import { netChanges, type RowChange } from './row-changes.js';

/** How many of what there are, by names of your own. */
export type Counts = Record<string, number>;

/** What a run has changed. */
export interface Change {
  counts: Counts;
  rows: RowChange[];
}

/** What to look at, and what not. */
export interface EffectOptions {
  observe?: () => Counts | Promise<Counts>;
  ignore?: readonly string[];
}

/** Sees the effects of a run: in the application's tables, and in what the user counts elsewhere. */
export class EffectWatch {
  private constructor(
    private readonly store: ChangesStore,
    private readonly observe: () => Counts | Promise<Counts>,
    private readonly ignore: readonly string[],
  ) {}

  /** Watches while `work` is at it. */
  static async around<T>(
    app: INestApplicationContext,
    { observe = () => ({}), ignore = [] }: EffectOptions,
    work: (effects: EffectWatch) => Promise<T>,
  ): Promise<T> {
    const dataSource = app.get<DataSource>(DATA_SOURCE, { strict: false });
    const store = await ChangesStore.open(
      dataSource,
      ownTables(app),
      undefined,
      ({ schema, relation }) =>
        ignore.includes(relation) || ignore.includes(`${schema}.${relation}`),
    );
    try {
      return await work(new EffectWatch(store, observe, ignore));
    } finally {
      await store.close();
    }
  }

  /** What `work` changes, and what it returns. */
  async during<T>(work: () => Promise<T>): Promise<{ result: T; change: Change }> {
    const before = { ...(await this.observe()) };
    await this.store.take();
    const result = await work();
    const rows = netChanges(await this.store.take(), this.store.tables);
    const counts = changeOf(before, await this.observe());
    return { result, change: { counts, rows: rows.map((change) => this.compared(change)) } };
  }

  /** Without the columns that the user does not want to have compared. */
  private compared(change: RowChange): RowChange {
    const values = Object.entries(change.values).filter(
      ([column]) => !this.ignore.includes(`${change.table}.${column}`),
    );
    return { ...change, values: Object.fromEntries(values) };
  }
}
