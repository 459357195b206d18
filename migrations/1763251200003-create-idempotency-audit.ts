import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './tables.js';

export class CreateIdempotencyAudit1763251200003 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_audit',
    columns: [
      'scope',
      'id',
      'key_id',
      'endpoint',
      'key',
      'effect_key',
      'action',
      'who',
      'why',
      'before',
      'after',
      'at',
    ],
  };

  readonly name = 'CreateIdempotencyAudit1763251200003';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const audit = tableName(queryRunner, 'idempotency_audit', this.schema);
    const names = namesOf(queryRunner, 'idempotency_audit', this.schema);
    await queryRunner.query(`
      CREATE TABLE ${audit} (
        "scope" text NOT NULL,
        "id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,

        -- which key. No foreign key: the entry outlives it
        "key_id" bigint NOT NULL,
        "endpoint" text NOT NULL,
        "key" text NOT NULL,
        "effect_key" uuid,

        -- who did what, and why
        "action" text NOT NULL,
        "who" text NOT NULL,
        "why" text,
        "before" json NOT NULL,
        "after" json,

        "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('scope', 'id')} PRIMARY KEY ("scope", "id")
      )
    `);
    // Serves the look at one key, with all that was decided about it.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['scope', 'key_id'])} ON ${audit} ("scope", "key_id")
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_audit', this.schema)}`,
    );
  }
}
