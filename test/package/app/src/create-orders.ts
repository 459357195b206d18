import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A table of the application's own, next to the ones of the package. */
export class CreateOrders1700000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      'CREATE TABLE orders (number integer GENERATED ALWAYS AS IDENTITY, article text NOT NULL)',
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE orders');
  }
}
