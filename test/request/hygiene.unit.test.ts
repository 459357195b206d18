import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { uuidV7 } from '../../lib/client/uuid-v7.js';
import { resolvePolicy } from '../../lib/policy/resolve-policy.js';
import { personalDataIn } from '../../lib/request/personal-data.js';

describe('Personal data in a key', () => {
  it.each([
    ['jane.doe@example.com', 'an e-mail address'],
    ['order-7-jane+shop@mail.example.co.uk', 'an e-mail address'],
    ['+4915112345678', 'a phone number'],
    ['sms:+1-(555)-123-4567', 'a phone number'],
    ['4242424242424242', 'the number of a payment card'],
    ['card-4242-4242-4242-4242', 'the number of a payment card'],
    ['378282246310005', 'the number of a payment card'],
    ['pay:2223003122003222', 'the number of a payment card'],
    ['DE89370400440532013000', 'an IBAN'],
    ['transfer-gb29nwbk60161331926819-1', 'an IBAN'],
  ])('is found in %s', (key, what) => {
    expect(personalDataIn(key)).toBe(what);
  });

  it.each([
    // A wrong check digit, an unknown brand, and digits that are part of something longer.
    '4242424242424241',
    '9242424242424242',
    'a4242424242424242',
    'DE89370400440532013001',
    // Times in milliseconds, microseconds and nanoseconds.
    '1763359467002',
    '1763359467002123',
    '1763359467002123456',
    'order-1001-payment',
    'user@host',
    'SGVsbG8+12345678abc=',
    '2026-11-17T06:04:27Z',
  ])('is not found in %s', (key) => {
    expect(personalDataIn(key)).toBeUndefined();
  });

  it('is hardly ever found in random keys', () => {
    const found = Array.from({ length: 2_000 }, () => [
      uuidV7(),
      randomUUID(),
      randomBytes(16).toString('hex'),
      randomBytes(16).toString('base64'),
      randomBytes(16).toString('base64url'),
    ])
      .flat()
      .filter((key) => personalDataIn(key) !== undefined);
    expect(found.length).toBeLessThan(5);
  });
});

describe('The default of hygiene', () => {
  const environment = process.env.NODE_ENV;
  afterEach(() => {
    process.env.NODE_ENV = environment;
  });

  it.each([
    ['development', 'warn'],
    ['staging', 'warn'],
    ['', 'warn'],
    ['production', 'off'],
    ['test', 'off'],
  ])('where NODE_ENV is %j is %s', (name, hygiene) => {
    process.env.NODE_ENV = name;
    expect(resolvePolicy('ietf', [], 'test').hygiene).toBe(hygiene);
    expect(resolvePolicy('ietf', [{ hygiene: 'refuse' }], 'test').hygiene).toBe('refuse');
  });
});
