import { describe, expect, it } from '@jest/globals';
import { idempotencyGrants } from 'nestjs-atomic-idempotency/migrations';
import { DataSource, DefaultNamingStrategy } from 'typeorm';

const roles = { application: 'api', worker: 'jobs', operator: 'support' };

describe('The grants', () => {
  it('name the tables as the data source does', () => {
    class Strategy extends DefaultNamingStrategy {
      override tableName(entity: string, given: string | undefined): string {
        return `t_${given ?? entity}`;
      }
    }
    const dataSource = new DataSource({
      type: 'postgres',
      schema: 'shop',
      entityPrefix: 'app_',
      namingStrategy: new Strategy(),
    });
    const sql = idempotencyGrants({ ...roles, dataSource });
    expect(sql).toContain('ON "shop"."app_t_idempotency_keys" TO "api"');
    expect(idempotencyGrants({ ...roles, dataSource, schema: 'own' })).toContain('"own"."app_t_');
  });

  it('take a schema and a prefix without a data source', () => {
    const sql = idempotencyGrants({ worker: 'jobs', schema: 'shop', entityPrefix: 'app_' });
    expect(sql).toContain('ON "shop"."app_idempotency_keys" TO "jobs"');
    expect(sql).not.toContain('application');
  });

  it('quote what they are given', () => {
    const sql = idempotencyGrants({ application: `a"b'c`, schema: `s'x` });
    expect(sql).toContain(`TO "a""b'c";`);
    expect(sql).toContain(`'"a""b''c"'`);
    expect(sql).toContain(`'"s''x"."idempotency_keys"'::regclass`);
  });

  it('make policies only if they are asked to', () => {
    expect(idempotencyGrants(roles)).not.toContain('POLICY');
    const sql = idempotencyGrants({ ...roles, rowLevelSecurity: true });
    expect(sql.match(/CREATE POLICY idempotency_scope .* TO "api" USING/g)).toHaveLength(5);
    expect(sql.match(/CREATE POLICY idempotency_all_scopes .* TO "jobs", "support"/g)).toHaveLength(
      5,
    );
    expect(idempotencyGrants({ ...roles, rowLevelSecurity: false })).toContain('DISABLE ROW LEVEL');
  });

  it('refuse what cannot be meant', () => {
    expect(() => idempotencyGrants({})).toThrow('no role is named');
    expect(() => idempotencyGrants({ worker: '' })).toThrow('worker is not the name of a role');
    const shared = { application: 'one', worker: 'one', rowLevelSecurity: true };
    expect(() => idempotencyGrants(shared)).toThrow('application role of its own');
  });
});
