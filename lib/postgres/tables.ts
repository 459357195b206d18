import type { DataSource, EntityMetadata } from 'typeorm';

/** A column of one of our tables. */
export interface TableColumn {
  name: string;
  /** Its name in the entity. */
  property: string;
  /** As the entity gives it, such as `timestamptz`. */
  type: string;
  /** Undefined: that of the database. */
  collation: string | undefined;
}

/** The names of our tables and columns, which a prefix, a schema or a naming strategy may have changed. */
export class Tables {
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string | undefined,
  ) {}

  /** The qualified, quoted name of the table of an entity, by the name in its decorator. */
  name(given: string): string {
    return [this.home, this.entity(given)?.tableName ?? given]
      .filter((part) => part !== undefined)
      .map((part) => `"${part.replaceAll('"', '""')}"`)
      .join('.');
  }

  /** The columns of the table of an entity, likewise. */
  columns(given: string): TableColumn[] {
    return this.entity(given)!.columns.map((column) => ({
      name: column.databaseName,
      property: column.propertyName,
      type: String(column.type),
      collation: column.collation,
    }));
  }

  private entity(given: string): EntityMetadata | undefined {
    return this.dataSource.entityMetadatas.find(
      (entity) => entity.givenTableName === given && entity.schema === this.home,
    );
  }

  /** The schema of the tables, if it is named. */
  private get home(): string | undefined {
    return this.schema ?? (this.dataSource.options as { schema?: string }).schema;
  }
}
