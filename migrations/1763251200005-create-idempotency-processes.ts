import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';

export class CreateIdempotencyProcesses1763251200005 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_processes',
    columns: ['id', 'host', 'pid', 'version', 'jobs', 'started_at', 'reported_at'],
  };

  readonly name = 'CreateIdempotencyProcesses1763251200005';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const processes = tableName(queryRunner, 'idempotency_processes', this.schema);
    const names = namesOf(queryRunner, 'idempotency_processes', this.schema);
    // One row per process that imports the module, for people. It has no scope: a
    // process serves all of them. It has no index but its key: there are as many
    // rows as processes, and a report that touches no index is a heap-only update.
    await queryRunner.query(`
      CREATE TABLE ${processes} (
        "id" uuid NOT NULL,
        "host" text NOT NULL,
        "pid" integer NOT NULL,
        "version" text NOT NULL,
        "jobs" json NOT NULL,
        "started_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        "reported_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        CONSTRAINT ${names.primaryKey('id')} PRIMARY KEY ("id")
      )
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_processes', this.schema)}`,
    );
  }
}
