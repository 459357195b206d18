import { Injectable, type CanActivate } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError } from 'nestjs-atomic-idempotency';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { bootFailure } from './boot-failure.js';

@Injectable()
class Sessions {}

@Injectable()
class AuthGuard implements CanActivate {
  constructor(readonly sessions: Sessions) {}

  canActivate(): boolean {
    return true;
  }
}

describe('Mistakes about the status route', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each<[string, Record<string, unknown>, string[]]>([
    ['an empty status path', { statusPath: '' }, ["statusPath is ''", "such as 'operations'"]],
    ['a status path of slashes', { statusPath: '//' }, ['statusPath is', "such as 'operations'"]],
    ['guards of no route', { statusGuards: [AuthGuard] }, ['without statusPath', 'Add statusPath']],
    [
      'a guard that is not in a list',
      { statusPath: 'operations', statusGuards: AuthGuard },
      ['statusGuards is', 'such as [AuthGuard]'],
    ],
    [
      'something else than a guard',
      { statusPath: 'operations', statusGuards: [Sessions] },
      ['statusGuards is', 'such as [AuthGuard]'],
    ],
    [
      'a guard that cannot be made',
      { statusPath: 'operations', statusGuards: [AuthGuard] },
      ['statusGuards: AuthGuard', 'Add it to the providers'],
    ],
  ])('stop the boot: %s', async (_, idempotency, words) => {
    const error = await bootFailure({ database, idempotency });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const word of words) expect(error.message).toContain(word);
  });
});
