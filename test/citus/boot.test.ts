import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError } from 'nestjs-atomic-idempotency';
import { bootFailure } from '../module/boot-failure.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { describeOnCitus, onPort, scopesOnDifferentNodes } from './on-citus.js';

describeOnCitus('An application on a cluster does not start', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it('on a worker, where the order of ids is another one', async () => {
    const [{ port }] = await scopesOnDifferentNodes(database);
    const error = await bootFailure({ database, dataSource: { url: onPort(database, port) } });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toContain('Connect the data source to the coordinator');
  });

  it('with dates that a worker would read as other dates', async () => {
    const extra = { options: '-c datestyle=SQL,DMY' };
    const error = await bootFailure({ database, dataSource: { extra } });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    expect(error.message).toMatch(/datestyle 'SQL, DMY'.*Connect with the datestyle 'ISO'/);
  });
});
