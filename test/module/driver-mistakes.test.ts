import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

/** What pg-native does, which needs a compiler to be installed: bytes become text. */
class BytesAsText extends pg.Client {
  // The overloads of pg.
  override query(query: never, ...rest: never[]): never {
    const { values } = query as { values?: unknown[] };
    values?.forEach((value, index) => {
      if (Buffer.isBuffer(value)) values[index] = value.toString();
    });
    return super.query(query, ...rest) as never;
  }
}

const driver = {
  ...pg,
  Pool: class extends pg.Pool {
    constructor(options: pg.PoolConfig) {
      super({ ...options, Client: BytesAsText });
    }
  },
};

describe('A driver that damages bytes', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  it('stops the boot; the error names pg-native', async () => {
    const { message } = await bootFailure({ database, dataSource: { driver } });
    expect(message).toContain('pg-native');
    expect(message).toContain('Uninstall');
  });
});
