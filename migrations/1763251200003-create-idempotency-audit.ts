import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';

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
      'message_id',
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
        "scope" text COLLATE "C" NOT NULL,
        "id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,

        -- which key or message. No foreign key: the entry outlives both
        "key_id" bigint,
        "endpoint" text,
        "key" text,
        "effect_key" uuid,
        "message_id" uuid,

        -- who did what, and why
        "action" text NOT NULL,
        "who" text NOT NULL,
        "why" text,
        "before" json NOT NULL,
        "after" json,

        "at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('scope', 'id')} PRIMARY KEY ("scope", "id"),
        CONSTRAINT "ck_idempotency_audit_subject" CHECK (key_id IS NOT NULL OR message_id IS NOT NULL OR action = 'erase')
      )
    `);
    // Serves the inspection of one key, with every decision about it.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['scope', 'key_id'])} ON ${audit} ("scope", "key_id")
    `);
    // Serves the inspection of one message, with every decision about it.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['scope', 'message_id'], 'message_id IS NOT NULL')} ON ${audit} ("scope", "message_id")
        WHERE message_id IS NOT NULL
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_audit', this.schema)}`,
    );
  }
}
