import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('Options of a factory', () => {
  it.each(['dataSource', 'schema', 'isGlobal', 'statusPath', 'statusGuards'])(
    'are refused if they come too late: %s',
    async (name) => {
      const { message } = await bootFailure({
        database,
        imports: [
          IdempotencyModule.forRootAsync({
            useFactory: () => ({ scope: 'global' as const, [name]: 'orders' }),
          }),
        ],
      });
      expect(message).toContain(`${name} came from the factory`);
      expect(message).toContain('beside useFactory');
    },
  );
});
