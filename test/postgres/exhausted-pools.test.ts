import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Database } from '../../lib/postgres/database.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let dataSource: DataSource;
let store: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await new DataSource({
    type: 'postgres',
    url: database.url,
    poolSize: 2,
  }).initialize();
  store = new Database(dataSource, 5_000);
  store.open();
});
afterAll(async () => {
  await store.close();
  await dataSource.destroy();
  await database.drop();
});

describe('A pool', () => {
  it('is exhausted while all of its connections are in use, and only then', async () => {
    const [first, second] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    expect(store.isExhausted).toBe(false);

    await first.connect();
    expect(store.isExhausted).toBe(false);
    await second.connect();
    expect(store.isExhausted).toBe(true);

    await first.release();
    expect(store.isExhausted).toBe(false);
    await second.release();
  });
});
