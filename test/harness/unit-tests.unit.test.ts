import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';

describe('Unit tests', () => {
  it('do not know the PostgreSQL of the run', async () => {
    await expect(createTestDatabase()).rejects.toThrow('TEST_DATABASE_PREFIX is not set');
    expect(Object.keys(process.env).filter((name) => name.startsWith('TEST_'))).toEqual([]);
  });

  it('cannot open a connection', () => {
    expect(() => connect(5432, '127.0.0.1')).toThrow('A unit test opens no connection');
  });
});
