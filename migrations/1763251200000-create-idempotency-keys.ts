import type { MigrationInterface, QueryRunner } from 'typeorm';
import { namesOf, quote, tableName, type SchemaStep } from './table-names.js';
import { WordColumn } from './word-column.js';

export class CreateIdempotencyKeys1763251200000 implements MigrationInterface {
  static readonly adds: SchemaStep = {
    table: 'idempotency_keys',
    columns: [
      'id',
      'scope',
      'key',
      'endpoint',
      'fingerprint',
      'status',
      'recovery_point',
      'owner',
      'attempt',
      'locked_until',
      'response_status',
      'response_headers',
      'response_body',
      'response_version',
      'last_error_code',
      'reconcile_after',
      'reconcile_attempts',
      'operation',
      'input',
      'lease_ms',
      'max_run_time_ms',
      'resume_after',
      'resume_attempts',
      'overdue',
      'method',
      'route',
      'path',
      'request',
      'traceparent',
      'on_abandoned',
      'on_expired',
      'created_at',
      'last_run_at',
      'completed_at',
      'expires_at',
      'held_at',
    ],
  };

  // TypeORM remembers a migration by this name; a minifier may change the class's.
  readonly name = 'CreateIdempotencyKeys1763251200000';

  constructor(private readonly schema?: string) {}

  async up(queryRunner: QueryRunner): Promise<void> {
    const keys = tableName(queryRunner, 'idempotency_keys', this.schema);
    const names = namesOf(queryRunner, 'idempotency_keys', this.schema);
    if (this.schema !== undefined) {
      await queryRunner.query(`CREATE SCHEMA IF NOT EXISTS ${quote(this.schema)}`);
    }
    const status = this.statusColumn(queryRunner);
    await status.create(
      'pending',
      'in_progress',
      'performed',
      'completed',
      'failed_retryable',
      'unknown',
      'expired',
    );
    // LOGGED, like every plain table: an UNLOGGED one is emptied by a crash of
    // the server, and every retry after it would run a second time.
    //
    // fillfactor: a key is updated once for its end, and once per phase and
    // heartbeat. Room on the page keeps those updates heap-only, so that they
    // do not touch the indexes. An answer makes a row larger, and rows of one
    // statement share a page, so that half of the page would be too little.
    await queryRunner.query(`
      CREATE TABLE ${keys} (
        -- identity
        "id" bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
        -- "C" is the order of bytes, which never changes. That of a language can change with an
        -- upgrade of the operating system. The indexes are then in the wrong order, and a key
        -- that is not found in them could be reserved twice. Comparing bytes is faster, too.
        -- Every text column of an index has this collation, in all tables.
        "scope" text COLLATE "C" NOT NULL,
        "key" text COLLATE "C" NOT NULL,
        "endpoint" text COLLATE "C" NOT NULL DEFAULT '',
        "fingerprint" bytea NOT NULL,

        -- progress
        "status" ${status.type} NOT NULL DEFAULT 'in_progress',
        "recovery_point" text NOT NULL DEFAULT 'started',

        -- lease
        "owner" uuid NOT NULL,
        "attempt" integer NOT NULL DEFAULT 1,
        "locked_until" TIMESTAMP WITH TIME ZONE NOT NULL,

        -- answer
        "response_status" smallint,
        "response_headers" jsonb,
        "response_body" bytea,
        "response_version" smallint,

        -- doubt
        "last_error_code" text,
        "reconcile_after" TIMESTAMP WITH TIME ZONE,
        "reconcile_attempts" integer NOT NULL DEFAULT 0,

        -- work without the client
        "operation" text,
        "input" json,
        "lease_ms" integer,
        "max_run_time_ms" bigint,
        "resume_after" TIMESTAMP WITH TIME ZONE,
        "resume_attempts" integer NOT NULL DEFAULT 0,
        "overdue" boolean,

        -- what was asked, for people
        "method" text,
        "route" text,
        "path" text,
        "request" json,
        "traceparent" text,

        -- what the jobs, which know no route, have to know of its policy
        "on_abandoned" text,
        "on_expired" text,

        -- times
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        "last_run_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
        "completed_at" TIMESTAMP WITH TIME ZONE,
        "expires_at" TIMESTAMP WITH TIME ZONE,
        -- Null nearly always, which takes no room. No index: the reaper meets held
        -- keys where it meets unknown ones, and passes both.
        "held_at" TIMESTAMP WITH TIME ZONE,

        -- The lock: of two inserts of one key, one finds the other's row here. The scope
        -- comes first, so that the keys of one scope can be read. The endpoint comes last:
        -- keys nearly always differ before it, and each further column is more to compare.
        CONSTRAINT ${names.primaryKey('scope', 'key', 'endpoint')} PRIMARY KEY ("scope", "key", "endpoint"),
        -- For people, URLs and references from tables of the user's.
        CONSTRAINT ${names.unique('id')} UNIQUE ("id")
      ) WITH (fillfactor = 40)
    `);
    // Serves the reaper. Set by the reservation and left alone by the end of a
    // first attempt, so that end stays a heap-only update; the index adds about
    // 6 % to the WAL of a request. (An index with the status in its predicate
    // would add 39 % and make every end touch all indexes.)
    await queryRunner.query(`
      CREATE INDEX ${names.index(['expires_at'])} ON ${keys} ("expires_at")
    `);
    // Serves the completer and the sweeper: keys that wait for another attempt, are
    // in their second one at least, or were in progress when the sweeper passed.
    // Null for nearly every request that just works.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['resume_after'], 'resume_after IS NOT NULL')} ON ${keys} ("resume_after")
        WHERE resume_after IS NOT NULL
    `);
    // Serves the reconciler, and lists and counts of unknown outcomes: null unless the
    // outcome is unknown, and infinity where it is left to people. With the id, those
    // left to people can be read oldest first, a page at a time.
    await queryRunner.query(`
      CREATE INDEX ${names.index(['reconcile_after', 'id'], 'reconcile_after IS NOT NULL')} ON ${keys} ("reconcile_after", "id")
        WHERE reconcile_after IS NOT NULL
    `);
    // Serves the limit on what a scope has outstanding: what waits for a worker, the
    // reconciler or a person. Both columns are null for nearly every request that just
    // works, and the two indexes above have them in their predicates already, so its end
    // stays a heap-only update.
    const waits = 'resume_after IS NOT NULL OR reconcile_after IS NOT NULL';
    await queryRunner.query(`
      CREATE INDEX ${names.index(['scope'], waits)} ON ${keys} ("scope") WHERE ${waits}
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE ${tableName(queryRunner, 'idempotency_keys', this.schema)}`,
    );
    await this.statusColumn(queryRunner).drop();
  }

  private statusColumn(queryRunner: QueryRunner): WordColumn {
    return new WordColumn(queryRunner, 'idempotency_keys', 'status', this.schema);
  }
}
