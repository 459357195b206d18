import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { idempotencyEntities } from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../sample-app/database/data-source.js';
import { AuditRecord } from '../../sample-app/rides/audit-record.entity.js';
import { Ride } from '../../sample-app/rides/ride.entity.js';
import { Tip } from '../../sample-app/tips/tip.entity.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const ENTITIES = [...idempotencyEntities, AuditRecord, Ride, Tip];

describe('The migrations of the sample app', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false });
    dataSource = new DataSource({ ...dataSourceOptions(database.url), entities: ENTITIES });
    await dataSource.initialize();
    await dataSource.runMigrations();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('create exactly the tables that the entities describe', async () => {
    const missing = await dataSource.driver.createSchemaBuilder().log();
    expect(missing.upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('let a key be removed without its ride', async () => {
    await database.query(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
       VALUES ('ada', 'k', '\\x00', gen_random_uuid(), now())`,
    );
    await database.query(
      `INSERT INTO rides (user_id, origin, target, fare, idempotency_key_id)
       SELECT 'ada', 'earth', 'moon', 4900, id FROM idempotency_keys`,
    );
    await database.query('DELETE FROM idempotency_keys');
    expect(await database.query('SELECT idempotency_key_id FROM rides')).toEqual([
      { idempotency_key_id: null },
    ]);
  });

  it('can be reverted', async () => {
    const applied = dataSource.migrations.length;
    for (let i = 0; i < applied; i += 1) await dataSource.undoLastMigration();
    const tables = await database.query(
      `SELECT table_name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_name <> 'migrations'`,
    );
    expect(tables).toEqual([]);
  });
});
