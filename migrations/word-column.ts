import type { QueryRunner } from 'typeorm';
import { typeName, type TableName } from './table-names.js';

/**
 * A type for one of our columns: text that is one of these words. A CHECK of the
 * table would do the same, but PostgreSQL reads and prepares it anew for every
 * statement that writes a row, which is more work than the row. What a domain allows
 * is read once per connection, and asked only where the column is written.
 */
export class WordColumn {
  /** Its qualified, quoted name. */
  readonly type: string;

  constructor(
    private readonly queryRunner: QueryRunner,
    table: TableName,
    column: string,
    schema: string | undefined,
  ) {
    this.type = typeName(queryRunner, table, column, schema);
  }

  async create(...words: string[]): Promise<void> {
    await this.queryRunner.query(
      `CREATE DOMAIN ${this.type} AS text CHECK (VALUE = ANY ('{${words.join()}}'))`,
    );
  }

  /** After the table. */
  async drop(): Promise<void> {
    await this.queryRunner.query(`DROP DOMAIN ${this.type}`);
  }
}
