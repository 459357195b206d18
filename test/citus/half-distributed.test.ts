import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { distributeOnCitus, idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { DataSource } from 'typeorm';
import { bootFailure } from '../module/boot-failure.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startIdempotentApp } from '../support/idempotent-app.js';
import { onEachPlatform, type Platform } from '../support/platforms.js';
import { describeOnCitus } from './on-citus.js';

describeOnCitus('Tables of which only some are distributed by scope', () => {
  onEachPlatform(tests, ['express']);
});

function tests(platform: Platform): void {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  const refusal = async () => (await bootFailure({ database })).message;
  const boot = async () => (await startIdempotentApp(platform, { database })).close();

  it('are refused at boot with the statement that repairs it', async () => {
    await boot();
    await database.query(`SELECT undistribute_table('idempotency_outbox')`);
    await database.query(`SELECT undistribute_table('idempotency_phases')`);
    const refused = await refusal();
    expect(refused).toContain(
      '"idempotency_phases" is not distributed, "idempotency_outbox" is not distributed.',
    );
    const statements = [...refused.matchAll(/SELECT [^;]*;/g)].map(([statement]) => statement);
    expect(statements).toHaveLength(2);
    for (const statement of statements) await database.query(statement);
    await boot();
  });

  it('are refused if they are not colocated, and the migration repairs it without loss', async () => {
    const dataSource = new DataSource({
      ...database.dataSourceOptions,
      migrations: [...idempotencyMigrations, distributeOnCitus()],
    });
    await dataSource.initialize();
    try {
      const { id } = await insertKey();
      await database.query(`SELECT undistribute_table('idempotency_outbox')`);
      await database.query(
        `SELECT create_distributed_table('idempotency_outbox', 'scope', colocate_with => 'none')`,
      );
      expect(await refusal()).toMatch(
        /"idempotency_outbox" is not colocated with "idempotency_keys"\..* Revert the migration distributeOnCitus\(\)/,
      );
      await dataSource.undoLastMigration();
      await boot();
      expect(Number((await insertKey()).id)).toBeGreaterThan(Number(id));
      await dataSource.runMigrations();
    } finally {
      await dataSource.destroy();
    }
    await boot();
    const kept = await database.query('SELECT DISTINCT id FROM idempotency_keys');
    expect(kept).toHaveLength(2);
  });

  async function insertKey(): Promise<{ id: string }> {
    const [row] = await database.query<{ id: string }>(
      `INSERT INTO idempotency_keys (scope, key, fingerprint, owner, locked_until)
       VALUES ('ada', $1, '', gen_random_uuid(), now()) RETURNING id`,
      [randomUUID()],
    );
    return row!;
  }
}
