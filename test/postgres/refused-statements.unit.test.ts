import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { isRefusal } from '../../lib/postgres/database-errors.js';

function fromServer(code: string, severity = 'ERROR'): Error {
  return Object.assign(new DatabaseError('said by the server', 0, 'error'), { code, severity });
}

describe('An error of a statement', () => {
  it.each([
    ['missing rights', '42501'],
    ['a missing table', '42P01'],
    ['a violated constraint', '23514'],
    ['a statement that was cancelled', '57014'],
    ['a conflict', '40001'],
    ['a server that accepts no writes', '25006'],
  ])('says that nothing of it is kept: %s', (_, code) => {
    expect(isRefusal(fromServer(code))).toBe(true);
    expect(isRefusal(new Error('as of TypeORM', { cause: fromServer(code) }))).toBe(true);
  });

  it.each([
    ['a server that shuts down', fromServer('57P01', 'FATAL')],
    ['a full disk, at which the server may stop', fromServer('53100', 'PANIC')],
    ['an error of the disk', fromServer('58030', 'PANIC')],
    ['an internal error', fromServer('XX000', 'PANIC')],
    ['a proxy that lost the server', fromServer('08P01', 'FATAL')],
    ['a broken connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
    ['anything else', new Error('something else')],
  ])('does not say what became of it: %s', (_, error) => {
    expect(isRefusal(error)).toBe(false);
  });
});
