import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { bootFailure } from './boot-failure.js';

describe('Wrong tables', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  it.each([
    ['idempotency_keys', 'CreateIdempotencyKeys1763251200000'],
    ['idempotency_phases', 'CreateIdempotencyPhases1763251200001'],
  ])(
    'stop the boot: without the table %s; the error names the migration',
    async (table, migration) => {
      await database.query(`DROP TABLE ${table} CASCADE`);
      const { message } = await bootFailure({ database });
      expect(message).toContain(`"${table}" does not exist`);
      expect(message).toContain(`Run the migration ${migration}`);
      expect(message).toContain('nestjs-atomic-idempotency/migrations');
      expect(message).toContain('migrationsRun: true');
    },
  );

  it.each([
    ['idempotency_keys', 'response_version', 'CreateIdempotencyKeys1763251200000'],
    ['idempotency_phases', 'effect_key', 'CreateIdempotencyPhases1763251200001'],
  ])(
    'stop the boot: a %s without %s; the error names both and the migration',
    async (table, column, migration) => {
      await database.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
      const { message } = await bootFailure({ database });
      expect(message).toContain(`"${table}" is of another version: it lacks ${column}`);
      expect(message).toContain(`Run the migration ${migration}`);
    },
  );
});

forEachPlatform('Migrations in the data source', (platform) => {
  it('run at boot and create the tables, as the error says', async () => {
    const database = await createTestDatabase({ migrated: false });
    const { message } = await bootFailure({ database });
    expect(message).toContain('does not exist');

    const app = await startIdempotentApp(platform, {
      database,
      dataSource: { migrations: [...idempotencyMigrations], migrationsRun: true },
    });
    expect(await database.query('SELECT name FROM migrations ORDER BY id')).toHaveLength(
      idempotencyMigrations.length,
    );
    await app.close();
    await database.drop();
  });
});
