import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';

export class CreateIdempotencyOutbox1763251200002 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_outbox',
    columns: [
      'scope',
      'id',
      'key_id',
      'position',
      'topic',
      'payload',
      'ordering_key',
      'traceparent',
      'attempts',
      'available_at',
      'lease_token',
      'last_error',
      'dead_at',
      'created_at',
    ],
  };

  readonly name = 'CreateIdempotencyOutbox1763251200002';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const outbox = tableName(queryRunner, 'idempotency_outbox', this.schema);
    const names = namesOf(queryRunner, 'idempotency_outbox', this.schema);
    const ordered = 'ordering_key IS NOT NULL AND dead_at IS NULL';
    await queryRunner.query(`
      CREATE TABLE ${outbox} (
        "scope" text COLLATE "C" NOT NULL DEFAULT '',
        "id" uuid NOT NULL,

        -- the key whose request added it. No foreign key: the message may outlive it
        "key_id" bigint,

        "position" BIGSERIAL NOT NULL,
        "topic" text NOT NULL,
        "payload" json,
        "ordering_key" text COLLATE "C",
        "traceparent" text,

        -- delivery
        "attempts" integer NOT NULL DEFAULT 0,
        "available_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        "lease_token" uuid,
        "last_error" text,
        "dead_at" TIMESTAMP WITH TIME ZONE,

        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('scope', 'id')} PRIMARY KEY ("scope", "id")
      )
    `);
    // Serves the claim: what is due, oldest first, without a look at the dead letters. The
    // position belongs to it, because all messages of one transaction are due at the same time:
    // a claim would otherwise sort a large batch from its beginning each time.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['available_at', 'position'], 'dead_at IS NULL')} ON ${outbox} ("available_at", "position")
        WHERE dead_at IS NULL
    `);
    // Serves people: the dead letters, oldest first, and the one to be requeued.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['dead_at'], 'dead_at IS NOT NULL')} ON ${outbox} ("dead_at")
        WHERE dead_at IS NOT NULL
    `);
    // Serves the question which message of an ordering key is the first one.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['ordering_key', 'position'], ordered)} ON ${outbox} ("ordering_key", "position")
        WHERE ${ordered}
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_outbox', this.schema)}`,
    );
  }
}
