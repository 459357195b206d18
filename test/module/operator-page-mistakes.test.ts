import { Injectable, type CanActivate } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IdempotencyConfigurationError, IdempotencyModule } from 'nestjs-atomic-idempotency';
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

const access = () => undefined;

describe('The application does not start', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  it.each<[string, unknown, string[]]>([
    [
      'a page that everybody could open',
      { path: 'operator' },
      ['neither guards nor access', 'Add access'],
    ],
    ['an empty list of guards', { path: 'operator', guards: [] }, ['neither guards nor access']],
    ['a path alone', 'operator', ["operatorPage is 'operator'", "{ path: 'operator'"]],
    ['no path', { access }, ['operatorPage.path is undefined', "such as 'operator'"]],
    ['a path of slashes', { path: '//', access }, ['operatorPage.path is', "such as 'operator'"]],
    [
      'a path with parameters',
      { path: 'ops/:x', access },
      ['operatorPage.path is', 'without parameters'],
    ],
    [
      'something else than a guard',
      { path: 'x', guards: [Sessions] },
      ['operatorPage.guards is', '[AdminGuard]'],
    ],
    [
      'a guard that cannot be made',
      { path: 'x', guards: [AuthGuard] },
      ['operatorPage.guards: AuthGuard', 'Add it to the providers'],
    ],
    [
      'access that is no function',
      { path: 'x', access: 'all' },
      ['operatorPage.access is', 'Use a function'],
    ],
    [
      'redact that is no function',
      { path: 'x', access, redact: ['card'] },
      ['operatorPage.redact is'],
    ],
    [
      'link that is no function',
      { path: 'x', access, link: 'https://x' },
      ['operatorPage.link is'],
    ],
    [
      'an environment without a name',
      { path: 'x', access, environment: '' },
      ['operatorPage.environment is'],
    ],
    [
      'a misspelt option',
      { path: 'x', acess: access },
      ['no option operatorPage.acess', 'Did you mean access?'],
    ],
  ])('with %s', async (_, operatorPage, words) => {
    const error = await bootFailure({ database, idempotency: { operatorPage } });
    expect(error).toBeInstanceOf(IdempotencyConfigurationError);
    for (const word of words) expect(error.message).toContain(word);
  });

  it('with a page that comes from a factory, which runs too late for routes', async () => {
    const error = await bootFailure({
      database,
      imports: [
        IdempotencyModule.forRootAsync({
          useFactory: () => ({ scope: 'global', operatorPage: { path: 'x', access } }) as never,
        }),
      ],
    });
    expect(error.message).toContain('operatorPage came from the factory');
  });
});
