import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';

export class CreateIdempotencyJobs1763251200004 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_jobs',
    columns: ['job', 'position', 'claimed_until'],
  };

  readonly name = 'CreateIdempotencyJobs1763251200004';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const jobs = tableName(queryRunner, 'idempotency_jobs', this.schema);
    const names = namesOf(queryRunner, 'idempotency_jobs', this.schema);
    // One row per job that walks along a table, shared by all processes: a restart
    // goes on where the walk was, and two processes do not walk the same rows.
    await queryRunner.query(`
      CREATE TABLE ${jobs} (
        "job" text COLLATE "C" NOT NULL,
        "position" bigint NOT NULL DEFAULT 0,
        "claimed_until" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('job')} PRIMARY KEY ("job")
      )
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_jobs', this.schema)}`,
    );
  }
}
