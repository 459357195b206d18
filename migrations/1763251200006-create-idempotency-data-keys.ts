import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';

export class CreateIdempotencyDataKeys1763251200006 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_data_keys',
    columns: ['scope', 'id', 'master_key', 'wrapped', 'created_at'],
  };

  readonly name = 'CreateIdempotencyDataKeys1763251200006';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const dataKeys = tableName(queryRunner, 'idempotency_data_keys', this.schema);
    const names = namesOf(queryRunner, 'idempotency_data_keys', this.schema);
    // One row per scope, with the option `encryption` only. Its insert is what two
    // processes agree by, and its removal is what erases a scope.
    await queryRunner.query(`
      CREATE TABLE ${dataKeys} (
        "scope" text COLLATE "C" NOT NULL,
        "id" uuid NOT NULL,
        "master_key" text COLLATE "C" NOT NULL,
        "wrapped" bytea NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('scope')} PRIMARY KEY ("scope")
      )
    `);
    // Serves the boot check, which asks which master keys are in use, and reencrypt(),
    // which finds what other ones wrapped. It is written once per scope.
    await queryRunner.query(
      `CREATE INDEX ${names.index(['master_key'])} ON ${dataKeys} ("master_key")`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_data_keys', this.schema)}`,
    );
  }
}
