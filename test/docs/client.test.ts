import { describe, expect, it } from '@jest/globals';
import * as client from 'nestjs-atomic-idempotency/client';
import { PROBLEMS } from '../../lib/answers/problems.js';
import { membersOf } from './declared.js';
import { firstCells, sorted, tableOf } from './document.js';

const CLIENT = 'guides/client.md';
const FETCH = 'lib/client/idempotent-fetch.ts';

describe('The page of the client', () => {
  it('has each option and each member of a call', () => {
    expect(firstCells(CLIENT, 'option of the client').toSorted()).toEqual(
      membersOf(FETCH, 'IdempotentFetchOptions').toSorted(),
    );
    expect(firstCells(CLIENT, 'member of a call').toSorted()).toEqual(
      membersOf(FETCH, 'IdempotentInit').toSorted(),
    );
  });

  it('has each error class and each store', () => {
    const functions = Object.entries(client).filter(([, value]) => typeof value === 'function');
    const classes = functions
      .filter(([, { prototype }]) => (prototype as unknown) instanceof Error)
      .map(([name]) => name);
    expect(
      [...firstCells(CLIENT, 'class of the client'), 'IdempotentFetchError'].toSorted(),
    ).toEqual(classes.toSorted());
    const stores = functions.map(([name]) => name).filter((name) => name.endsWith('Keys'));
    expect(firstCells(CLIENT, 'store')).toEqual(
      expect.arrayContaining(stores.map((name) => `${name}()`)),
    );
  });

  it('has each reason, in the words of the error', () => {
    const failed = { key: 'k', attempts: 1 };
    for (const [reason, meaning] of tableOf(CLIENT, 'reason of an unknown outcome')) {
      const { message } = new client.OutcomeUnknownError(reason as client.UnknownReason, failed);
      expect(message).toContain(meaning!.split(',')[0]);
    }
  });
});

describe('The page for clients', () => {
  it('has each code with its status, and says send it again where that may help', () => {
    const page = tableOf('guides/for-your-clients.md', 'code you get');
    const rows = Object.entries(PROBLEMS).map(([code, { status, retryable }]) => [
      code,
      String(status),
      retryable ? 'yes' : 'no',
    ]);
    expect(sorted(page.map((row) => row.slice(0, 3)))).toEqual(sorted(rows));
    for (const [code, , , advice] of page) expect([code, advice!.length > 0]).toEqual([code, true]);
  });
});
