import { idempotencyGrants, type IdempotencyGrants } from 'nestjs-atomic-idempotency/migrations';
import { createTestDatabase, type TestDatabase } from './database.js';

export type RoleName = 'application' | 'worker' | 'operator';

export interface RoleDatabase extends TestDatabase {
  /** The names of the roles. */
  roles: Record<RoleName, string>;
  /** For the data source of an application that connects as this role. */
  as(role: RoleName): { url: string };
  /** What this role gets when it says so itself. */
  ask(role: RoleName, sql: string, parameters?: unknown[]): Promise<Record<string, any>[]>;
}

/** A database with nothing for everybody, and three roles with what the script gives to them. */
export async function createRoleDatabase(
  grants: Omit<IdempotencyGrants, RoleName> = {},
): Promise<RoleDatabase> {
  const database = await createTestDatabase();
  const roles = {
    application: `${database.name}_app`,
    worker: `${database.name}_worker`,
    operator: `${database.name}_operator`,
  };
  await database.query('REVOKE ALL ON SCHEMA public FROM PUBLIC');
  for (const role of Object.values(roles)) {
    await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  }
  await database.query(idempotencyGrants({ ...roles, ...grants }));
  // What belongs to the application itself.
  await database.query('CREATE TABLE notes (id serial, note text NOT NULL)');
  for (const role of [roles.application, roles.worker]) {
    await database.query(`GRANT SELECT, INSERT ON notes TO ${role}`);
    await database.query(`GRANT USAGE ON SEQUENCE notes_id_seq TO ${role}`);
  }
  return {
    ...database,
    roles,
    as(role) {
      const url = new URL(database.url);
      url.username = roles[role];
      url.password = 'secret';
      return { url: url.href };
    },
    async ask(role, sql, parameters = []) {
      const client = await database.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(`SET LOCAL ROLE ${roles[role]}`);
        return (await client.query(sql, parameters)).rows as Record<string, any>[];
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
    async drop() {
      for (const role of Object.values(roles)) {
        await database.query(`DROP OWNED BY ${role}`);
        await database.query(`DROP ROLE ${role}`);
      }
      await database.drop();
    },
  };
}
