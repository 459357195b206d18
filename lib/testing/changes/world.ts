import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { entitiesIn } from '../../schema/entities.js';
import { DATA_SOURCE, SCHEMA } from '../../tokens.js';
import { changesBetween, type RowChange } from './row-changes.js';
import { TablesStore } from './tables-store.js';

/** How many of what there are, by names of your own. */
export type Counts = Record<string, number>;

/** What a run has changed. */
export interface Change {
  counts: Counts;
  rows: RowChange[];
}

/** What TypeORM keeps for itself. */
const TYPEORM_TABLES = ['migrations', 'typeorm_metadata'];

/** What can be seen of a run's effects: the application's tables, and what the user counts elsewhere. */
export class World {
  private readonly tables: TablesStore;

  constructor(
    app: INestApplicationContext,
    private readonly observe: () => Counts | Promise<Counts> = () => ({}),
    private readonly ignore: readonly string[] = [],
  ) {
    const dataSource: DataSource = app.get(DATA_SOURCE, { strict: false });
    const schema: string | undefined = app.get(SCHEMA, { strict: false });
    const own = entitiesIn(schema).map((entity) => dataSource.getMetadata(entity).tableName);
    this.tables = new TablesStore(dataSource, [...own, ...TYPEORM_TABLES, ...ignore]);
  }

  /** What `work` changes, and what it returns. */
  async during<T>(work: () => Promise<T>): Promise<{ result: T; change: Change }> {
    const before = await this.look();
    const result = await work();
    const after = await this.look();
    const names = Object.keys({ ...before.counts, ...after.counts });
    const counts = Object.fromEntries(
      names.map((name) => [name, (after.counts[name] ?? 0) - (before.counts[name] ?? 0)]),
    );
    const rows = changesBetween(before.rows, after.rows).map((change) => this.compared(change));
    return { result, change: { counts, rows } };
  }

  private async look() {
    return { counts: await this.observe(), rows: await this.tables.read() };
  }

  /** Without the columns that the user does not want to have compared. */
  private compared(change: RowChange): RowChange {
    const values = Object.entries(change.values).filter(
      ([column]) => !this.ignore.includes(`${change.table}.${column}`),
    );
    return { ...change, values: Object.fromEntries(values) };
  }
}
