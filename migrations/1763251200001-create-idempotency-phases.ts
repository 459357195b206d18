import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, tableName, type SchemaStep } from './table-names.js';
import { WordColumn } from './word-column.js';

export class CreateIdempotencyPhases1763251200001 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_phases',
    columns: [
      'scope',
      'key_id',
      'name',
      'position',
      'kind',
      'state',
      'attempt',
      'effect_key',
      'in_doubt',
      'key_valid_until',
      'request',
      'result',
      'started_at',
      'finished_at',
    ],
  };

  readonly name = 'CreateIdempotencyPhases1763251200001';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const phases = tableName(queryRunner, 'idempotency_phases', this.schema);
    const names = namesOf(queryRunner, 'idempotency_phases', this.schema);
    const { kind, state } = this.wordColumns(queryRunner);
    await kind.create('local', 'foreign', 'operation');
    await state.create('intended', 'withdrawn', 'reconciled', 'finished', 'rejected');
    await queryRunner.query(`
      CREATE TABLE ${phases} (
        "scope" text COLLATE "C" NOT NULL,
        -- The id of the key. No foreign key: it would be checked for every phase, and every
        -- phase is written in one statement with an update of its key, which has to be there.
        -- Whatever removes a key removes its phases.
        "key_id" bigint NOT NULL,
        "name" text COLLATE "C" NOT NULL,
        "position" integer NOT NULL,
        "kind" ${kind.type} NOT NULL,
        "state" ${state.type} NOT NULL,
        "attempt" integer NOT NULL,

        -- foreign phases only
        "effect_key" uuid,
        "in_doubt" text,
        "key_valid_until" TIMESTAMP WITH TIME ZONE,
        "request" json,

        "result" json,
        "started_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT statement_timestamp(),
        "finished_at" TIMESTAMP WITH TIME ZONE,

        CONSTRAINT ${names.primaryKey('scope', 'key_id', 'name')} PRIMARY KEY ("scope", "key_id", "name")
      ) WITH (fillfactor = 75)
    `);
    // Serves webhooks and people, who know a call by its effect key. A webhook
    // comes for every payment, so the look-up has to be cheap. It adds about 15 %
    // to the WAL of a foreign phase and nothing to a local one; the phase's end
    // stays a heap-only update.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['effect_key'], 'effect_key IS NOT NULL')} ON ${phases} ("effect_key")
        WHERE effect_key IS NOT NULL
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_phases', this.schema)}`,
    );
    const { kind, state } = this.wordColumns(queryRunner);
    await kind.drop();
    await state.drop();
  }

  private wordColumns(queryRunner: QueryRunner): { kind: WordColumn; state: WordColumn } {
    const of = (column: string) =>
      new WordColumn(queryRunner, 'idempotency_phases', column, this.schema);
    return { kind: of('kind'), state: of('state') };
  }
}
