import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateRocketRides1763251300000 implements MigrationInterface {
  name = 'CreateRocketRides1763251300000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE rides (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rides PRIMARY KEY,
        user_id text NOT NULL,
        origin text NOT NULL,
        target text NOT NULL,
        fare integer NOT NULL,
        charge_id text,
        idempotency_key_id bigint CONSTRAINT uq_rides_idempotency_key UNIQUE,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    // SET NULL, or no key that made a ride could ever be removed. The index of the unique constraint
    // is also what makes that removal quick. A key that is distributed has no unique id to refer to.
    await queryRunner.query(`
      DO $$ BEGIN
        ALTER TABLE rides ADD CONSTRAINT fk_rides_idempotency_key
          FOREIGN KEY (idempotency_key_id) REFERENCES idempotency_keys (id) ON DELETE SET NULL;
      EXCEPTION WHEN invalid_foreign_key THEN NULL;
      END $$`);
    await queryRunner.query(`
      CREATE TABLE audit_records (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_audit_records PRIMARY KEY,
        user_id text NOT NULL,
        action text NOT NULL,
        subject text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await queryRunner.query(`
      CREATE TABLE tips (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_tips PRIMARY KEY,
        ride_id bigint NOT NULL CONSTRAINT fk_tips_ride REFERENCES rides (id),
        amount integer NOT NULL,
        transfer_id text,
        declined text,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE tips');
    await queryRunner.query('DROP TABLE audit_records');
    await queryRunner.query('DROP TABLE rides');
  }
}
